package telemetry

import (
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// CountRequests wraps what sends requests to the API server.
func (m *Meters) CountRequests(next http.RoundTripper) http.RoundTripper {
	return counting{next: next, meters: m}
}

type counting struct {
	next   http.RoundTripper
	meters *Meters
}

// RoundTrip sends a request and counts it.
func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	code := "error"
	if err == nil {
		code = strconv.Itoa(response.StatusCode)
	}
	target := TargetOf(r)
	namespace, name := c.meters.labels(types.NamespacedName{Namespace: target.Namespace, Name: target.Name})
	c.meters.requests.WithLabelValues(target.Resource, namespace, name, target.Verb, code).Inc()
	return response, err
}

// Target is what a request is about.
type Target struct{ Resource, Namespace, Name, Verb string }

// TargetOf reads the paths of Kubernetes' API: /api/v1 or /apis/GROUP/VERSION, [namespaces/NAMESPACE,] RESOURCE[, NAME[, SUBRESOURCE]].
func TargetOf(r *http.Request) Target {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var t Target
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return Target{Resource: "other", Verb: verbs[r.Method]} // versions, discovery
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		t.Namespace, parts = parts[1], parts[2:]
	}
	t.Resource = parts[0]
	if len(parts) > 1 {
		t.Name = parts[1]
	}
	t.Verb = verbs[r.Method]
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") == "true":
		t.Verb = "Watch"
	case r.Method == http.MethodGet && t.Name == "":
		t.Verb = "List"
	}
	return t
}

var verbs = map[string]string{
	http.MethodGet: "Get", http.MethodPost: "Create", http.MethodPut: "Update", http.MethodPatch: "Patch", http.MethodDelete: "Delete",
}
