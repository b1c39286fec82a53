package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// Options are how a dashboard is run.
type Options struct {
	Clock clock.Clock
	// Client fills the cache. Its namespace is the one that is shown, none for all. Without a door it also acts, as the person who runs the
	// dashboard; with one it only writes the events that say who did what.
	Client live.Client
	// Door lets several people in, who act as themselves. Nil: one person, who runs the dashboard and opens the printed link.
	Door Door
	// Secret signs forms, if it has to outlive this process. Nil: a random one.
	Secret []byte
	// Secure: browsers reach the dashboard by HTTPS only.
	Secure bool
	// Namespace is the one that the kubeconfig names.
	Namespace string
	// Cluster is what to call the cluster.
	Cluster string
	// Root is the path below which everything is, without slashes; it may be empty.
	Root string
	// Hosts are the values of Host that this server answers to.
	Hosts []string
	// Bearer is the token that scripts send, empty if there is none.
	Bearer string
	// Frames are the origins whose pages may show tiles in frames.
	Frames []string
	// PublicBadges shows badges to everyone, without a login.
	PublicBadges bool
	// ReadOnly refuses everything that changes something.
	ReadOnly bool
	// Invited is called with the token of the link that lets the next browser in.
	Invited func(token string)
}

// Server is the dashboard.
type Server struct {
	Options
	guard   *guard
	hub     *hub
	cache   *live.Cache
	details *details
	cookie  string
	started time.Time

	// self is the one who runs the dashboard, where there is no door.
	self *person

	mu      sync.Mutex
	persons map[string]*known
}

// New makes a dashboard that watches nothing before Run.
func New(o Options) *Server {
	s := &Server{Options: o, guard: newGuard(o), persons: map[string]*known{}, started: o.Clock.Now(), self: &person{Person: Person{Client: o.Client}, known: newKnown(streamsAtOnce), own: true}}
	s.cache = live.NewCache(o.Client, func(name types.NamespacedName) { s.hub.changed(name) })
	s.hub = newHub(s.cache, o.Clock.Now)
	s.details = newDetails(o.Clock, s.hub.tell)
	s.cookie = "sluice-dashboard"
	if len(o.Hosts) > 0 {
		_, port, _ := strings.Cut(o.Hosts[0], ":") // cookies do not keep ports apart
		s.cookie += "-" + port
	}
	return s
}

// Run watches the cluster until ctx ends.
func (s *Server) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { s.cache.Run(ctx) })
	running.Go(func() { s.hub.run(ctx, s.Clock.After) })
	running.Wait()
}

// Ready reports whether there is something to show.
func (s *Server) Ready() bool { return s.cache.Synced() }

// path is a path of this server.
func (s *Server) path(parts ...string) string {
	path := ""
	if s.Root != "" {
		path = "/" + s.Root
	}
	return path + "/" + strings.Join(parts, "/")
}

// Handler answers requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	page := func(pattern string, h func(http.ResponseWriter, *http.Request, identity)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+s.path(path), func(w http.ResponseWriter, r *http.Request) {
			if id, ok := s.let(w, r); ok {
				h(w, r, id)
			}
		})
	}
	if s.Root != "" {
		mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, s.path(), http.StatusFound) })
	}
	if s.Door == nil {
		mux.HandleFunc("GET "+s.path("login"), s.login)
	} else {
		s.handleDoor(mux, page)
	}
	mux.HandleFunc("GET "+s.path("static", "{file}"), s.static)
	page("GET {$}", s.listPage)
	page("GET session", func(w http.ResponseWriter, _ *http.Request, _ identity) { w.WriteHeader(http.StatusNoContent) })
	page("GET rollout/{namespace}/{name}", s.rolloutPage)
	page("GET rollout/{namespace}/{name}/diff", s.comparePage)
	page("GET rollout/{namespace}/{name}/{action}", s.confirmPage)
	page("GET analysisrun/{namespace}/{name}", s.analysisRunPage)
	page("GET experiment/{namespace}/{name}", s.experimentPage)
	page("GET tile/{namespace}/{name}", s.tilePage)
	if s.PublicBadges {
		mux.HandleFunc("GET "+s.path("badge/{namespace}/{name}"), s.publicBadge)
	} else {
		page("GET badge/{namespace}/{name}", s.badgePage)
	}
	page("POST rollout/{namespace}/{name}/{action}", s.perform)
	s.apiRoutes(page)
	page("GET {namespace}", func(w http.ResponseWriter, r *http.Request, _ identity) {
		http.Redirect(w, r, s.path()+filter{Namespace: r.PathValue("namespace"), Size: pageSize}.Query(), http.StatusFound)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers(w)
		if p := s.guard.check(r, s.Clock.Now(), s.embedded(w, r)); p != nil {
			s.refuse(w, r, *p)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyBytes)
		mux.ServeHTTP(w, r)
	})
}

// let finds out who sends a request. A browser that is not known is told how to be.
func (s *Server) let(w http.ResponseWriter, r *http.Request) (identity, bool) {
	if s.Door != nil {
		return s.admit(w, r)
	}
	id := s.guard.identify(r, s.cookie)
	if !id.known {
		s.refuse(w, r, problem{http.StatusUnauthorized, "This browser has not been let in. Open the link that the dashboard printed; each link works once, and after that a new one is printed."})
	}
	id.person = s.self
	return id, id.known
}

// login exchanges the token of a link for a cookie, so that the token is neither in the history nor in a bookmark.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if !s.guard.logins.AllowN(s.Clock.Now(), 1) {
		s.refuse(w, r, problem{http.StatusTooManyRequests, "Too many attempts. Wait a minute and try again."})
		return
	}
	if !s.guard.identify(r, s.cookie).known {
		if !s.guard.admit(r.URL.Query().Get("token")) {
			s.refuse(w, r, problem{http.StatusUnauthorized, "This link was used before, or is not one of this dashboard. Open the one that it printed last."})
			return
		}
		http.SetCookie(w, &http.Cookie{Name: s.cookie, Value: s.guard.session(), Path: s.path(), HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
	next := s.path()
	if wanted := r.URL.Query().Get("next"); strings.HasPrefix(wanted, next) && !strings.ContainsAny(wanted, "\\\r\n") && !strings.HasPrefix(wanted, "//") {
		next = wanted
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// refuse answers with a page, or for programs with a line.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, p problem) {
	if strings.HasPrefix(r.URL.Path, s.path("api")) {
		s.refuseScript(w, p)
		return
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Error(w, p.text, p.status)
		return
	}
	s.write(w, p.status, "problem", layout{Title: http.StatusText(p.status)}, struct {
		Text string
		// Again is where the browser may be known after all: it keeps the cookie back when a link of another site was followed.
		Again string
	}{p.text, again(r, p)})
}

// refuseScript answers as the REST API does.
func (s *Server) refuseScript(w http.ResponseWriter, p problem) {
	code, ok := map[int]int{http.StatusUnauthorized: 16, http.StatusForbidden: 7, http.StatusTooManyRequests: 8}[p.status]
	if !ok {
		code = 2
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	_, _ = w.Write([]byte(quoted(map[string]any{"error": p.text, "message": p.text, "code": code}) + "\n")) // a reader that is gone needs nothing
}

func again(r *http.Request, p problem) string {
	if p.status == http.StatusUnauthorized && r.Method == http.MethodGet && !strings.HasSuffix(r.URL.Path, "/login") {
		return r.URL.RequestURI()
	}
	return ""
}

// named is the Rollout that a request is about.
func named(r *http.Request) types.NamespacedName {
	return types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
}

// missing says that there is no such object, or that nobody knows yet.
func (s *Server) missing(w http.ResponseWriter, r *http.Request, noun string, name types.NamespacedName) {
	if !s.cache.Synced() {
		text := "The cluster's Rollouts have not been read yet."
		if err := s.cache.Trouble(); err != nil {
			text = fmt.Sprintf("The cluster's Rollouts cannot be read: %v", err)
		}
		s.refuse(w, r, problem{http.StatusServiceUnavailable, text})
		return
	}
	s.refuse(w, r, problem{http.StatusNotFound, fmt.Sprintf("There is no %s '%s' in namespace '%s'.", noun, name.Name, name.Namespace)})
}
