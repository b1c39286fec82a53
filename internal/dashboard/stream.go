package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// fragment is a part of a page that is replaced as a whole when it changes; a list of them has parts that are replaced one by one.
type fragment struct {
	ID    string
	HTML  template.HTML
	Parts []part
}

type part struct {
	ID   string
	HTML template.HTML
}

func (f fragment) whole() template.HTML {
	if f.Parts == nil {
		return f.HTML
	}
	var b strings.Builder
	for _, p := range f.Parts {
		b.WriteString(string(p.HTML))
	}
	return template.HTML(b.String()) //nolint:gosec // parts are made by templates
}

// screen is a page that follows what happens.
type screen struct {
	title, template string
	// wants says which objects are on it.
	wants func(types.NamespacedName) bool
	// draw makes its fragments; an error ends it.
	draw func(context.Context) ([]fragment, error)
}

// show answers with the page or, to an EventSource at the same address, with what changes of it.
func (s *Server) show(w http.ResponseWriter, r *http.Request, id identity, sc screen) {
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		s.stream(w, r, id, sc)
		return
	}
	fragments, err := sc.draw(r.Context())
	if err != nil {
		s.refuse(w, r, problem{http.StatusInternalServerError, err.Error()})
		return
	}
	drawn := map[string]template.HTML{}
	for _, f := range fragments {
		drawn[f.ID] = f.whole()
	}
	s.write(w, http.StatusOK, sc.template, layout{Title: sc.title, Live: true, Flash: s.flash(w, r), session: id.session, Person: id.person.Name}, drawn)
}

const (
	// heartbeat keeps proxies from closing a stream in which nothing happens.
	heartbeat = 15 * time.Second
	// writePatience is how long a viewer may take to accept what is sent before it is disconnected. It comes back by itself, and gets all of
	// the page again.
	writePatience = 20 * time.Second
)

// message is what is sent: the element of this id has this content now. Outer replaces the element itself.
type message struct {
	ID    string `json:"id"`
	HTML  string `json:"html"`
	Outer bool   `json:"outer,omitempty"`
}

// stream sends all fragments, and then those that change. It draws when the viewer has accepted what it was sent, so one that is slow skips
// what was in between.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, id identity, sc screen) {
	sit, ok := s.sit(id)
	if !ok {
		http.Error(w, "too many open pages", http.StatusServiceUnavailable)
		return
	}
	defer sit()
	v, leave := s.hub.join(sc.wants)
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	sent := map[string]fragment{}
	beat := s.Clock.NewTimer(heartbeat)
	defer beat.Stop()
	for {
		fragments, err := sc.draw(r.Context())
		var text strings.Builder
		if err != nil {
			fmt.Fprintf(&text, "event: gone\ndata: %s\n\n", quoted(err.Error()))
		}
		for _, f := range fragments {
			for _, m := range news(sent[f.ID], f) {
				fmt.Fprintf(&text, "event: fragment\ndata: %s\n\n", quoted(m))
			}
			sent[f.ID] = f
		}
		if text.Len() == 0 {
			text.WriteString(":\n\n")
		}
		_ = out.SetWriteDeadline(s.Clock.Now().Add(writePatience)) // not every connection has deadlines, and a test's has none
		if _, err := w.Write([]byte(text.String())); err != nil || out.Flush() != nil {
			return
		}
		if err != nil {
			return
		}
		if !beat.Stop() {
			select {
			case <-beat.C():
			default:
			}
		}
		beat.Reset(heartbeat)
		select {
		case <-r.Context().Done():
			return
		case <-beat.C():
		case <-v.ready:
		}
		if s.over(r, id) {
			_, _ = w.Write([]byte("event: again\ndata: {}\n\n")) // a browser comes back, and may get another cookie
			_ = out.Flush()
			return
		}
	}
}

// sit takes a place for a stream, until it is left: one of all, and one of the person's.
func (s *Server) sit(id identity) (leave func(), ok bool) {
	for i, places := range []chan struct{}{id.person.streams, s.guard.streams} {
		select {
		case places <- struct{}{}:
			continue
		default:
		}
		if i > 0 {
			<-id.person.streams
		}
		return nil, false
	}
	return func() { <-s.guard.streams; <-id.person.streams }, true
}

// over: who looks is not known anymore. A script is identified by the same request again; a browser has to come back, for its cookie may need
// renewal.
func (s *Server) over(r *http.Request, id identity) bool {
	p := id.person
	if p.Until.IsZero() || !s.Clock.Now().After(p.Until) {
		return false
	}
	if !id.script {
		return true
	}
	again, err := s.Door.Enter(nil, r)
	if err != nil || again.Key != p.Key {
		return true
	}
	p.Person = again
	return false
}

func quoted(v any) string {
	b, _ := json.Marshal(v) // texts only
	return string(b)
}

// news are what is different.
func news(before, after fragment) []message {
	ids := func(f fragment) []string {
		var all []string
		for _, p := range f.Parts {
			all = append(all, p.ID)
		}
		return all
	}
	if after.Parts == nil || !slices.Equal(ids(before), ids(after)) || before.ID == "" {
		if before.ID != "" && before.whole() == after.whole() {
			return nil
		}
		return []message{{ID: "f-" + after.ID, HTML: string(after.whole())}}
	}
	var changed []message
	for i, p := range after.Parts {
		if before.Parts[i].HTML != p.HTML {
			changed = append(changed, message{ID: p.ID, HTML: string(p.HTML), Outer: true})
		}
	}
	return changed
}
