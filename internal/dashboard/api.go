package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/buildinfo"
	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/view"
)

// apiRoutes are the paths that scripts use. Shapes and status codes are those of Argo Rollouts' dashboard (wire format).
func (s *Server) apiRoutes(route func(string, func(http.ResponseWriter, *http.Request, identity))) {
	get := func(path string, answer func(*http.Request, *person) (any, error)) {
		route("GET api/v1/"+path, func(w http.ResponseWriter, r *http.Request, id identity) {
			result, err := answer(r, id.person)
			reply(w, result, err)
		})
	}
	get("version", func(*http.Request, *person) (any, error) {
		return map[string]any{"rolloutsVersion": buildinfo.Version()}, nil
	})
	get("namespace", func(r *http.Request, p *person) (any, error) { return s.apiNamespaces(r.Context(), p), nil })
	get("rollouts/{namespace}/info", func(r *http.Request, p *person) (any, error) {
		infos := []rolloutInfo{}
		for _, row := range s.rows(r.Context(), p) {
			if row.Namespace == r.PathValue("namespace") {
				if info, err := s.info(r.Context(), p, types.NamespacedName{Namespace: row.Namespace, Name: row.Name}, false); err == nil { // else it has just been deleted
					infos = append(infos, info)
				}
			}
		}
		return map[string]any{"rollouts": infos}, nil
	})
	get("rollouts/{namespace}/{name}/info", func(r *http.Request, p *person) (any, error) { return s.fullInfo(r.Context(), p, named(r)) })
	route("GET api/v1/rollouts/{namespace}/info/watch", s.watchNamespace)
	route("GET api/v1/rollouts/{namespace}/{name}/info/watch", s.watchOne)

	for _, name := range []string{"restart", "abort", "retry"} {
		s.apiAction(route, name, name, nil)
	}
	s.apiAction(route, "promote", "promote", nil)
	s.apiAction(route, "undo/{revision}", "undo", func(r *http.Request, _ map[string]any) (url.Values, error) {
		return url.Values{"revision": {r.PathValue("revision")}}, nil
	})
	s.apiAction(route, "set/{container}/{image...}", "image", func(r *http.Request, _ map[string]any) (url.Values, error) {
		i := strings.LastIndex(r.PathValue("image"), "/")
		if i < 0 {
			return nil, invalidError("the path must end with an image and a tag, such as set/web/nginx/1.27")
		}
		return url.Values{"image-" + r.PathValue("container"): {r.PathValue("image")[:i] + ":" + r.PathValue("image")[i+1:]}}, nil
	})
}

// invalidError is a mistake of the script.
type invalidError string

func (e invalidError) Error() string { return string(e) }

// apiAction is one of the actions for scripts. A browser's session is not enough for it: pages use forms.
func (s *Server) apiAction(route func(string, func(http.ResponseWriter, *http.Request, identity)), path, name string, read func(*http.Request, map[string]any) (url.Values, error)) {
	route("PUT api/v1/rollouts/{namespace}/{name}/"+path, func(w http.ResponseWriter, r *http.Request, id identity) {
		result, err := s.apiPerform(r, id, name, read)
		reply(w, result, err)
	})
}

func (s *Server) apiPerform(r *http.Request, id identity, name string, read func(*http.Request, map[string]any) (url.Values, error)) (any, error) {
	forbidden := func(why string) error {
		return apierrors.NewForbidden(live.Rollouts.GroupResource(), r.PathValue("name"), errors.New(why))
	}
	if !id.script {
		return nil, forbidden("scripts send a token as 'Authorization: Bearer TOKEN'; sluice dashboard writes one with --token-file")
	}
	if s.ReadOnly {
		return nil, forbidden("this dashboard was started with --read-only")
	}
	given := map[string]any{}
	if err := json.NewDecoder(r.Body).Decode(&given); err != nil && !errors.Is(err, io.EOF) {
		return nil, invalidError("the body is not JSON: " + err.Error())
	}
	if name == "promote" && given["full"] == true {
		name = "promote-full"
	}
	var form url.Values
	if read != nil {
		var err error
		if form, err = read(r, given); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), actionTimeout)
	defer cancel()
	c := id.person.in(r.PathValue("namespace"))
	a := actions[slices.IndexFunc(actions, func(a action) bool { return a.Name == name })]
	if _, err := a.do(ctx, c, r.PathValue("name"), form, s.Clock.Now()); err != nil {
		return nil, err
	}
	ro, err := c.Rollout(ctx, r.PathValue("name"))
	if err == nil {
		s.announce(ctx, id.person, ro, a)
	}
	return ro, err
}

// reply writes a result, or an error as Argo Rollouts' gateway does: with the code of gRPC, from which the status follows.
func reply(w http.ResponseWriter, result any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		code, status := codes(err)
		w.WriteHeader(status)
		result = map[string]any{"error": err.Error(), "message": err.Error(), "code": code}
	}
	_ = json.NewEncoder(w).Encode(result) // a reader that is gone needs nothing
}

func codes(err error) (grpc, status int) {
	var invalid invalidError
	switch {
	case errors.As(err, &invalid):
		return 3, http.StatusBadRequest
	case apierrors.IsNotFound(err):
		return 5, http.StatusNotFound
	case apierrors.IsForbidden(err):
		return 7, http.StatusForbidden
	case apierrors.IsUnauthorized(err):
		return 16, http.StatusUnauthorized
	}
	return 2, http.StatusInternalServerError
}

func (s *Server) apiNamespaces(ctx context.Context, p *person) any {
	found := map[string]bool{}
	for _, row := range s.rows(ctx, p) {
		found[row.Namespace] = true
	}
	return map[string]any{"namespace": s.Namespace, "availableNamespaces": slices.Sorted(maps.Keys(found))}
}

func (s *Server) fullInfo(ctx context.Context, p *person, name types.NamespacedName) (rolloutInfo, error) {
	info, err := s.info(ctx, p, name, true)
	if err != nil || !info.refers {
		return info, err
	}
	template, err := act.WantedTemplate(ctx, p.in(name.Namespace), name.Name)
	if err != nil { // it refers to what cannot be read: the rest is worth showing
		return info, nil //nolint:nilerr // see above
	}
	info.Containers, info.InitContainers = containerInfos(template.Spec.Containers), containerInfos(template.Spec.InitContainers)
	return info, nil
}

func (s *Server) info(ctx context.Context, p *person, name types.NamespacedName, full bool) (rolloutInfo, error) {
	o, ok := s.objects(ctx, p, name)
	if !ok {
		return rolloutInfo{}, apierrors.NewNotFound(live.Rollouts.GroupResource(), name.Name)
	}
	if !full {
		o.Experiments, o.AnalysisRuns = nil, nil
	}
	return infoOf(o, view.Of(o, s.Clock.Now())), nil
}

func (s *Server) watchOne(w http.ResponseWriter, r *http.Request, id identity) {
	name := named(r)
	if _, err := s.info(r.Context(), id.person, name, true); err != nil {
		reply(w, nil, err)
		return
	}
	last := ""
	s.watch(w, r, id, func(changed types.NamespacedName) bool { return changed == name }, func() ([]any, error) {
		info, err := s.info(r.Context(), id.person, name, true)
		if err != nil {
			return nil, err
		}
		text := quoted(info)
		if text == last {
			return nil, nil
		}
		last = text
		return []any{info}, nil
	})
}

func (s *Server) watchNamespace(w http.ResponseWriter, r *http.Request, id identity) {
	namespace := r.PathValue("namespace")
	sent := map[string]*row{}
	s.watch(w, r, id, func(changed types.NamespacedName) bool { return changed.Namespace == namespace }, func() ([]any, error) {
		var results []any
		there := map[string]bool{}
		for _, row := range s.rows(r.Context(), id.person) {
			if row.Namespace != namespace {
				continue
			}
			there[row.Name] = true
			if sent[row.Name] == row {
				continue
			}
			sent[row.Name] = row
			if info, err := s.info(r.Context(), id.person, types.NamespacedName{Namespace: namespace, Name: row.Name}, false); err == nil { // else it has just been deleted
				results = append(results, map[string]any{"type": "Updated", "rolloutInfo": info})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(sent)) {
			if !there[name] {
				delete(sent, name)
				results = append(results, map[string]any{"type": "Deleted", "rolloutInfo": rolloutInfo{ObjectMeta: metaInfo{Name: name, Namespace: namespace}}})
			}
		}
		return results, nil
	})
}

// watch streams results: as server-sent events to those who ask for them, otherwise one JSON a line.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, id identity, wants func(types.NamespacedName) bool, next func() ([]any, error)) {
	sit, ok := s.sit(id)
	if !ok {
		reply(w, nil, errors.New("too many streams are open"))
		return
	}
	defer sit()
	v, leave := s.hub.join(wants)
	defer leave()
	events := strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	begin, end := "", "\n"
	w.Header().Set("Content-Type", "application/json")
	if events {
		begin, end = "data: ", "\n\n"
		w.Header().Set("Content-Type", "text/event-stream")
	}
	picked := fieldsIn(r.URL.Query().Get("fields"))
	out := http.NewResponseController(w)
	for {
		results, err := next()
		var text strings.Builder
		for _, result := range results {
			text.WriteString(begin + pick(map[string]any{"result": result}, picked) + end)
		}
		if err != nil {
			code, status := codes(err)
			text.WriteString(begin + quoted(map[string]any{"error": map[string]any{"grpc_code": code, "http_code": status, "message": err.Error()}}) + end)
		}
		if text.Len() == 0 && events {
			text.WriteString(":\n\n")
		}
		_ = out.SetWriteDeadline(s.Clock.Now().Add(writePatience)) // not every connection has deadlines
		if _, failed := w.Write([]byte(text.String())); failed != nil || out.Flush() != nil || err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.Clock.After(heartbeat):
		case <-v.ready:
		}
		if s.over(r, id) {
			return
		}
	}
}

// fieldsIn are the paths of fields in a query, such as result.rolloutInfo.status.
func fieldsIn(query string) [][]string {
	var paths [][]string
	for path := range strings.SplitSeq(query, ",") {
		if path != "" {
			paths = append(paths, strings.Split(path, "."))
		}
	}
	return paths
}

// pick is a value as JSON, reduced to fields if some are named.
func pick(value any, paths [][]string) string {
	text := quoted(value)
	if len(paths) == 0 {
		return text
	}
	var whole map[string]any
	_ = json.Unmarshal([]byte(text), &whole) // we have just made it
	reduced := map[string]any{}
	for _, path := range paths {
		from, to := whole, reduced
		for i, key := range path {
			found, ok := from[key]
			if !ok {
				break
			}
			deeper, isMap := found.(map[string]any)
			if i == len(path)-1 || !isMap {
				to[key] = found
				break
			}
			below, _ := to[key].(map[string]any)
			if below == nil {
				below = map[string]any{}
				to[key] = below
			}
			from, to = deeper, below
		}
	}
	return quoted(reduced)
}

// stepText is the position in the steps, such as 2/5.
func stepText(r view.Rollout) string {
	if len(r.Steps) == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", r.StepsDone, len(r.Steps))
}

func timeText(t *metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
