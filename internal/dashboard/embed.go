package dashboard

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/view"
)

// What other pages show of a Rollout: a badge, which is a picture, and a tile, which is a page in a frame. Neither can do anything.

// embedded adds the headers that let others show a badge or a tile, and reports whether a request is for one that they may.
func (s *Server) embedded(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	h := w.Header()
	switch {
	case s.PublicBadges && strings.HasPrefix(r.URL.Path, s.path("badge", "")):
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		return true
	case len(s.Frames) > 0 && strings.HasPrefix(r.URL.Path, s.path("tile", "")):
		h.Set("Content-Security-Policy", strings.Replace(policy, "frame-ancestors 'none'", "frame-ancestors "+strings.Join(s.Frames, " "), 1))
		h.Del("X-Frame-Options")
		return r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Dest") == "iframe"
	}
	return false
}

// badgePage is the badge for those who are let in; publicBadge is for everyone.
func (s *Server) badgePage(w http.ResponseWriter, r *http.Request, id identity) {
	_, ok := s.objects(r.Context(), id.person, named(r))
	s.badge(w, named(r), ok)
}

func (s *Server) publicBadge(w http.ResponseWriter, r *http.Request) { s.badge(w, named(r), true) }

func (s *Server) badge(w http.ResponseWriter, name types.NamespacedName, may bool) {
	status, words := http.StatusNotFound, "unknown"
	var tone string
	if o, ok := s.cache.Objects(name); ok && may {
		r := view.Of(o, s.Clock.Now())
		status, words, tone = http.StatusOK, badgeText(r), tones[r.Status.Icon]
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "no-cache, max-age=0")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(badgeOf(name.Name, words, tone))) // a reader that is gone needs nothing
}

// badgeText is the phase, and how far the update is.
func badgeText(r view.Rollout) string {
	if len(r.Steps) == 0 || r.Strategy != view.Canary || r.ActualWeight == r.SetWeight && r.StepsDone == len(r.Steps) {
		return r.Status.Text
	}
	return fmt.Sprintf("%s %d %%, step %d/%d", r.Status.Text, r.ActualWeight, r.StepsDone, len(r.Steps))
}

var badgeColors = map[string]string{"good": "#0f6d3f", "bad": "#b3261e", "busy": "#1a5fb4", "held": "#8a5300", "warn": "#8a5300"}

// badgeOf draws two words side by side. The widths are those of 11 px sans-serif letters, about.
func badgeOf(name, words, tone string) string {
	color := badgeColors[tone]
	if color == "" {
		color = "#57626f"
	}
	name, words = clean.Text(name), clean.Text(words)
	a, b := 12+len([]rune(name))*7, 12+len([]rune(words))*7
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="%[2]s: %[3]s"><title>%[2]s: %[3]s</title>`+
		`<rect width="%[4]d" height="20" rx="3" fill="#2b333d"/><rect x="%[4]d" width="%[5]d" height="20" rx="3" fill="%[6]s"/><rect x="%[4]d" width="4" height="20" fill="%[6]s"/>`+
		`<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="%[7]d" y="14" textLength="%[8]d">%[2]s</text><text x="%[9]d" y="14" textLength="%[10]d">%[3]s</text></g></svg>`,
		a+b, html.EscapeString(name), html.EscapeString(words), a, b, color, a/2, a-12, a+b/2, b-12)
}

// tilePage is a small page for a frame. It brings itself up to date, and has no form.
func (s *Server) tilePage(w http.ResponseWriter, r *http.Request, id identity) {
	name := named(r)
	o, ok := s.objects(r.Context(), id.person, name)
	if !ok {
		s.missing(w, r, "rollout", name)
		return
	}
	now := s.Clock.Now()
	body, err := s.render("tile", struct {
		*row
		Root, Style, Script string
		Now                 time.Time
	}{rowOf(o, now), s.path(), s.asset("style.css"), s.asset("app.js"), now})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(body)) // a reader that is gone needs nothing
}
