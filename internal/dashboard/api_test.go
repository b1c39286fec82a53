package dashboard

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// script sends a request as a script does.
func (d *desk) script(method, path, body string) (int, map[string]any) {
	d.t.Helper()
	w := d.send(method, path, body, func(r *http.Request) {
		r.Header = http.Header{"Authorization": {"Bearer script"}, "Content-Type": {"application/json"}}
	})
	answer := map[string]any{}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		d.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return w.Code, answer
}

func at(v any, path ...string) any {
	for _, key := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			v = x[int(key[0]-'0')]
		default:
			return nil
		}
	}
	return v
}

func TestRESTReads(t *testing.T) {
	d := newDesk(t, func(o *Options) { o.Namespace = "shop" }, paused)
	d.wait("the pod", func() bool {
		_, one := d.script("GET", "/rollouts/api/v1/rollouts/shop/web/info", "")
		return at(one, "replicaSets", "0", "pods") != nil && len(at(one, "replicaSets").([]any)) == 2
	})
	_, one := d.script("GET", "/rollouts/api/v1/rollouts/shop/web/info", "")
	for path, want := range map[string]any{
		"objectMeta name": "web", "objectMeta resourceVersion": "7", "status": "Paused", "message": "CanaryPauseStep", "icon": "॥", "strategy": "Canary", "step": "1/2",
		"setWeight": "50", "actualWeight": "50", "desired": 2.0, "available": 2.0, "ready": nil, "restartedAt": "Never", "generation": "3",
		"containers 0 image": "nginx:2", "steps 0 setWeight": 50.0, "analysisRuns": nil,
		"replicaSets 0 revision": 2.0, "replicaSets 0 canary": true, "replicaSets 0 stable": nil, "replicaSets 1 stable": true, "replicaSets 0 images 0": "nginx:2",
		"replicaSets 0 pods 0 status": "ImagePullBackOff", "replicaSets 0 pods 0 ready": "0/1", "replicaSets 0 pods 0 restarts": 3.0, "replicaSets 0 status": "Progressing",
	} {
		if diff := cmp.Diff(want, at(one, strings.Fields(path)...)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", path, diff)
		}
	}
	if _, list := d.script("GET", "/rollouts/api/v1/rollouts/shop/info", ""); at(list, "rollouts", "0", "objectMeta", "name") != "web" {
		t.Errorf("list: %v", list)
	}
	if _, list := d.script("GET", "/rollouts/api/v1/rollouts/other/info", ""); len(at(list, "rollouts").([]any)) != 0 {
		t.Errorf("list of another namespace: %v", list)
	}
	_, namespaces := d.script("GET", "/rollouts/api/v1/namespace", "")
	if diff := cmp.Diff(map[string]any{"namespace": "shop", "availableNamespaces": []any{"shop"}}, namespaces); diff != "" {
		t.Error(diff)
	}
	if _, version := d.script("GET", "/rollouts/api/v1/version", ""); version["rolloutsVersion"] == "" {
		t.Errorf("version: %v", version)
	}
	if code, missing := d.script("GET", "/rollouts/api/v1/rollouts/shop/none/info", ""); code != 404 || missing["code"] != 5.0 || missing["message"] == "" || missing["error"] == "" {
		t.Errorf("a rollout that is not there: %d %v", code, missing)
	}
	w := d.send("GET", "/rollouts/api/v1/version", "", nil)
	if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), `"code":16`) {
		t.Errorf("without a token: %d %s", w.Code, w.Body)
	}
}

func TestRESTActions(t *testing.T) {
	for path, test := range map[string]struct{ body, want string }{
		"promote":                            {`{}`, `rollouts/status {"status":{"pauseConditions":null}}`},
		"promote?":                           {`{"full":true}`, `rollouts/status {"status":{"promoteFull":true}}`},
		"abort":                              {`{"name":"web","namespace":"shop"}`, `rollouts/status {"status":{"abort":true}}`},
		"restart":                            {``, `rollouts {"spec":{"restartAt":`},
		"undo/1":                             {`{}`, `rollouts [{"op":"replace"`},
		"undo/0":                             {`{}`, `rollouts [{"op":"replace"`},
		"set/nginx/registry/a/nginx/3":       {`{}`, `update rollouts`},
		"set/nginx/localhost:5000/nginx/1.0": {`{}`, `update rollouts`},
	} {
		d := newDesk(t, nil, paused)
		code, answer := d.script("PUT", "/rollouts/api/v1/rollouts/shop/web/"+path, test.body)
		if code != http.StatusOK || at(answer, "metadata", "name") != "web" {
			t.Errorf("%s: %d %v", path, code, answer)
		}
		if writes := d.writes(); len(writes) != 1 || !strings.HasPrefix(writes[0], test.want) {
			t.Errorf("%s: written %q, want %q", path, writes, test.want)
		}
		if image, ok := strings.CutPrefix(path, "set/nginx/"); ok {
			i := strings.LastIndex(image, "/")
			d.wait("the image", func() bool {
				_, now := d.script("GET", "/rollouts/api/v1/rollouts/shop/web/info", "")
				return at(now, "containers", "0", "image") == image[:i]+":"+image[i+1:]
			})
		}
	}
}

func TestRESTRefusals(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	for path, want := range map[string]int{"set/nginx/3": 400, "set/none/nginx/3": 500, "undo/x": 500, "undo/9": 500} {
		if code, answer := d.script("PUT", "/rollouts/api/v1/rollouts/shop/web/"+path, "{}"); code != want || len(d.writes()) > 0 {
			t.Errorf("%s: %d %v, written %q", path, code, answer, d.writes())
		}
	}
	if code, _ := d.script("PUT", "/rollouts/api/v1/rollouts/shop/none/abort", "{}"); code != http.StatusNotFound {
		t.Errorf("a rollout that is not there: %d", code)
	}
	// The session of a browser is for forms.
	w := d.send("PUT", "/rollouts/api/v1/rollouts/shop/web/promote", "{}", nil)
	if w.Code != http.StatusForbidden || len(d.writes()) > 0 || !strings.Contains(w.Body.String(), `"code":7`) {
		t.Errorf("by a cookie: %d %s, written %q", w.Code, w.Body, d.writes())
	}
	looking := newDesk(t, func(o *Options) { o.ReadOnly = true }, paused)
	if code, _ := looking.script("PUT", "/rollouts/api/v1/rollouts/shop/web/promote", "{}"); code != http.StatusForbidden || len(looking.writes()) > 0 {
		t.Errorf("read-only: %d, written %q", code, looking.writes())
	}
}

func TestRESTWatches(t *testing.T) {
	d := newDesk(t, nil, paused)
	events := d.stream("/rollouts/api/v1/rollouts/shop/web/info/watch")
	next := func(s *streamed, want string) {
		t.Helper()
		for s.lines.Scan() {
			if strings.Contains(s.lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the stream ended before it had %q: %v", want, s.lines.Err())
	}
	picked := d.stream("/rollouts/api/v1/rollouts/shop/info/watch?fields=result.type,result.rolloutInfo.status")
	next(events, `data: {"result":{"objectMeta":{"name":"web"`)
	next(picked, `data: {"result":{"rolloutInfo":{"status":"Paused"},"type":"Updated"}}`)
	d.edit(func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, "Degraded", "status", "phase")
	})
	next(events, `"status":"Degraded"`)
	next(picked, `data: {"result":{"rolloutInfo":{"status":"Degraded"},"type":"Updated"}}`)
	if err := d.cluster.Resource(live.Rollouts).Namespace("shop").Delete(t.Context(), "web", deleteNow); err != nil {
		t.Fatal(err)
	}
	next(picked, `"type":"Deleted"`)
	next(events, `"error":{"grpc_code":5,"http_code":404`)
}

// Who does not ask for events gets one JSON a line.
func TestRESTWatchesLines(t *testing.T) {
	d := newDesk(t, nil, paused)
	server := httptest.NewServer(d.handler)
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/rollouts/api/v1/rollouts/shop/info/watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Authorization", "Bearer script")
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close() //nolint:errcheck // it has been read
	var first struct {
		Result struct {
			Type        string
			RolloutInfo rolloutInfo
		}
	}
	if err := json.NewDecoder(io.LimitReader(w.Body, 1<<20)).Decode(&first); err != nil || first.Result.Type != "Updated" || first.Result.RolloutInfo.ObjectMeta.Name != "web" {
		t.Errorf("%v %+v", err, first)
	}
}
