package dashboard

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// admit finds out who sends a request, at the door. People who are not logged in are sent to where they can be; programs are told.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (identity, bool) {
	p, err := s.Door.Enter(w, r)
	switch {
	case err == nil:
	case errors.Is(err, ErrUnknown) && s.Door.Login() && navigates(r) && !strings.HasPrefix(r.URL.Path, s.path("api")):
		http.Redirect(w, r, s.path("login")+"?"+url.Values{"next": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
		return identity{}, false
	case errors.Is(err, ErrUnknown):
		s.refuse(w, r, problem{http.StatusUnauthorized, "You are not logged in."})
		return identity{}, false
	default:
		s.refuse(w, r, problem{http.StatusServiceUnavailable, "The dashboard cannot find out who you are: " + err.Error() + "."})
		return identity{}, false
	}
	one := s.remembered(p.Key)
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !one.actions.AllowN(s.Clock.Now(), 1) {
		s.refuse(w, r, problem{http.StatusTooManyRequests, "Too many actions at once. Wait a few seconds and try again."})
		return identity{}, false
	}
	return identity{known: true, session: "person " + p.Key, script: p.Script, person: &person{Person: p, known: one}}, true
}

// navigates: a person opens a page. Programs and streams are no help to a login page.
func navigates(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") && r.Header.Get("Sec-Fetch-Mode") != "cors"
}

// handleDoor adds the pages of the door, and the way out.
func (s *Server) handleDoor(mux *http.ServeMux, page func(string, func(http.ResponseWriter, *http.Request, identity))) {
	s.Door.Handle(func(pattern string, h http.HandlerFunc) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+s.path(path), func(w http.ResponseWriter, r *http.Request) {
			if !s.guard.logins.AllowN(s.Clock.Now(), 1) {
				s.refuse(w, r, problem{http.StatusTooManyRequests, "Too many logins at once. Wait a few seconds and try again."})
				return
			}
			h(w, r)
		})
	}, func(w http.ResponseWriter, r *http.Request, status int, text string) {
		s.refuse(w, r, problem{status, text})
	})
	page("POST logout", func(w http.ResponseWriter, r *http.Request, id identity) {
		if !s.signedForm(r, id) {
			s.refuse(w, r, problem{http.StatusForbidden, staleForm})
			return
		}
		s.Door.Leave(w, r)
		s.write(w, http.StatusOK, "left", layout{Title: "Logged out"}, s.path())
	})
}

const staleForm = "This form is not one of this dashboard's pages, or older than this process. Open the page again."

// signedForm reports whether a form is one that this person's page had.
func (s *Server) signedForm(r *http.Request, id identity) bool {
	return id.session != "" && subtle.ConstantTimeCompare([]byte(r.PostFormValue("csrf")), []byte(s.guard.csrf(id.session))) == 1
}
