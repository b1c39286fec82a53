package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
)

// serve answers lists, watches, and questions about rights, as far as informers and the dashboard ask.
func (k *thousand) serve(t *testing.T) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch resource := path.Base(r.URL.Path); {
		case resource == "selfsubjectaccessreviews":
			w.WriteHeader(http.StatusCreated)
			answer(w, `{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {}, "status": {"allowed": true}}`)
		case resource == "selfsubjectreviews":
			w.WriteHeader(http.StatusCreated)
			who := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			answer(w, fmt.Sprintf(`{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "status": {"userInfo": {"username": %q}}}`, who))
		case r.URL.Query().Get("watch") != "":
			k.watch(w, r, resource)
		default:
			answer(w, fmt.Sprintf(`{"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1"}, "items": [%s]}`, strings.Join(k.objects[resource], ",")))
		}
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	k.url = server.URL
}

func (k *thousand) watch(w http.ResponseWriter, r *http.Request, resource string) {
	out := http.NewResponseController(w)
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, o := range k.objects[resource] {
			answer(w, `{"type": "ADDED", "object": `+o+"}\n")
		}
		kind := map[string]string{"rollouts": "argoproj.io/v1alpha1 Rollout", "replicasets": "apps/v1 ReplicaSet", "pods": "v1 Pod", "experiments": "argoproj.io/v1alpha1 Experiment", "analysisruns": "argoproj.io/v1alpha1 AnalysisRun"}[resource]
		version, name, _ := strings.Cut(kind, " ")
		answer(w, fmt.Sprintf(`{"type": "BOOKMARK", "object": {"apiVersion": %q, "kind": %q, "metadata": {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}}}`+"\n", version, name))
	}
	if out.Flush() != nil {
		return
	}
	news := make(chan string, 1)
	if resource == "rollouts" {
		k.mu.Lock()
		k.rollouts[news] = true
		k.mu.Unlock()
		defer func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			delete(k.rollouts, news)
		}()
	}
	for {
		select {
		case text := <-news:
			answer(w, text+"\n")
			if out.Flush() != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// answer writes to a client that may be gone, which then needs nothing.
func answer(w http.ResponseWriter, text string) { _, _ = w.Write([]byte(text)) }
