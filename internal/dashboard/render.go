package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/buildinfo"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/view"
)

//go:embed page/*.html
var pages embed.FS

//go:embed static
var static embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"icon": icon, "tone": tone, "when": when, "countdown": countdown, "number": number, "age": view.Age, "item": item,
	"said": said, "plus": func(a, b int) int { return a + b }, "ago": func(now time.Time, age time.Duration) template.HTML { return when(now.Add(-age), now) },
	"bar": bar, "podsOf": func(pods []view.Pod, now time.Time) podList { return podList{pods, now} },
	"runIn": func(r runData, root string) runLink { return runLink{r, root} },
	"ahead": func(o *view.Outlook, now time.Time) outlookData { return outlookData{Outlook: o, Now: now} },
	"asked": func(m v1alpha1.Measurement) string { return m.Metadata[asked] },
}).ParseFS(pages, "page/*.html"))

// podList is a list of pods at a moment, and runLink a run on a page of this dashboard.
type (
	podList struct {
		Pods []view.Pod
		Now  time.Time
	}
	runLink struct {
		runData
		Root string
	}
)

// asked is where a measurement notes what its provider was asked (metric.Asked).
const asked = "asked"

// layout is what every page has.
type layout struct {
	Title string
	// Live pages follow what happens.
	Live  bool
	Flash string

	// Person is who looks, empty for the one who runs the dashboard.
	Person string

	session string
}

// write renders a page. What comes from the cluster is escaped by the templates, and characters that deceive the eye here.
func (s *Server) write(w http.ResponseWriter, status int, name string, l layout, data any) {
	body, err := s.render(name, data)
	if err == nil {
		var page template.HTML
		page, err = s.render("layout", struct {
			layout
			Body                               template.HTML
			Root, Cluster, Version, Namespaces string
			Script, Style                      string
			CSRF                               string
			ReadOnly                           bool
			Login                              bool // which can be ended here
		}{l, body, s.path(), s.Cluster, buildinfo.Version(), s.Client.Namespace, s.asset("app.js"), s.asset("style.css"), s.guard.csrf(l.session), s.ReadOnly, s.Door != nil && s.Door.Login()})
		body = page
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // a reader that is gone needs nothing
}

func (s *Server) render(name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("render %s: %w", name, err)
	}
	return template.HTML(clean.Text(b.String())), nil //nolint:gosec // made by a template
}

// fragmentOf renders a part of a page.
func (s *Server) fragmentOf(id, name string, data any) (fragment, error) {
	text, err := s.render(name, data)
	return fragment{ID: id, HTML: text}, err
}

// asset is the path of a file, which changes with its content.
func (s *Server) asset(name string) string {
	content, _ := static.ReadFile("static/" + name) // of ours
	sum := sha256.Sum256(content)
	return s.path("static", name) + "?v=" + hex.EncodeToString(sum[:4])
}

func (s *Server) static(w http.ResponseWriter, r *http.Request) {
	content, err := static.ReadFile("static/" + path.Base(r.PathValue("file")))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	types := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
	w.Header().Set("Content-Type", types[path.Ext(r.PathValue("file"))])
	w.Header().Set("Cache-Control", "max-age=31536000, immutable")
	_, _ = w.Write(content) // a reader that is gone needs nothing
}

// shapes are the icons: each has a shape of its own, for those who do not tell the colors apart.
var shapes = map[view.Icon]string{
	view.IconHealthy:     `<path d="M3.5 8.5l3 3 6-7"/>`,
	view.IconDegraded:    `<path d="M4 4l8 8M12 4l-8 8"/>`,
	view.IconProgressing: `<path d="M13 8a5 5 0 1 1-2-4M13 1.8V5h-3.2"/>`,
	view.IconPaused:      `<path d="M5.5 3.5v9M10.5 3.5v9"/>`,
	view.IconWarning:     `<path d="M8 2.2L14.5 13.5h-13zM8 6.5v3.2M8 11.6v.2"/>`,
	view.IconUnknown:     `<path d="M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.8-1.1 1.8M8 12.4v.2"/>`,
	view.IconIdle:        `<circle cx="8" cy="8" r="2.2"/>`,
	view.IconPending:     `<circle cx="8" cy="8" r="5.5"/><path d="M8 4.8V8l2.2 1.6"/>`,
}

var tones = map[view.Icon]string{
	view.IconHealthy: "good", view.IconDegraded: "bad", view.IconProgressing: "busy", view.IconPaused: "held", view.IconWarning: "warn",
	view.IconUnknown: "idle", view.IconIdle: "idle", view.IconPending: "idle",
}

func icon(i view.Icon) template.HTML {
	return template.HTML(`<svg class="icon ` + tone(i) + `" viewBox="0 0 16 16" aria-hidden="true">` + shapes[i] + `</svg>`) //nolint:gosec // of ours
}

func tone(i view.Icon) string { return tones[i] }

// when is a moment: how long ago it was, and for the browser the moment itself, which it shows in the viewer's zone.
func when(t, now time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	exact := t.UTC().Format(time.RFC3339)
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, exact, exact, view.Age(max(0, now.Sub(t))))) //nolint:gosec // no text from outside
}

// countdown is how long it is until a moment.
func countdown(t, now time.Time) template.HTML {
	exact := t.UTC().Format(time.RFC3339)
	return template.HTML(fmt.Sprintf(`<time data-until datetime="%s" title="%s">%s</time>`, exact, exact, view.Human(max(0, t.Sub(now).Round(time.Second))))) //nolint:gosec // no text from outside
}

var instant = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// said is a text in which the browser shows instants in the viewer's zone.
func said(text string) template.HTML {
	return template.HTML(instant.ReplaceAllString(template.HTMLEscapeString(text), `<time data-clock datetime="$0" title="$0">$0</time>`)) //nolint:gosec // escaped
}

// number is a measured value. One that is a number the browser shows as the viewer writes numbers.
func number(value string) template.HTML {
	text := template.HTMLEscapeString(value)
	if v, ok := numberOf(value); ok {
		return template.HTML(fmt.Sprintf(`<data value="%v">%s</data>`, v, text)) //nolint:gosec // escaped
	}
	return template.HTML(text) //nolint:gosec // escaped
}

// bar is a share as a bar, without inline styles, which the content policy refuses.
func bar(class string, percent int32) template.HTML {
	p := min(100, max(0, percent))
	return template.HTML(fmt.Sprintf(`<svg class="bar %s" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="rail" width="100" height="6" rx="1"/><rect class="fill" width="%d" height="6" rx="1"/></svg>`, class, p)) //nolint:gosec // of ours
}

// item is a line of an explanation without the dash that it has in a terminal.
func item(text string) string { return strings.TrimPrefix(text, "- ") }
