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
	target := targetOf(r)
	namespace, name := c.meters.labels(types.NamespacedName{Namespace: target.namespace, Name: target.name})
	c.meters.requests.WithLabelValues(target.resource, namespace, name, target.verb, code).Inc()
	return response, err
}

// target is what a request is about.
type target struct{ resource, namespace, name, verb string }

// targetOf reads the paths of Kubernetes' API: /api/v1 or /apis/GROUP/VERSION, [namespaces/NAMESPACE,] RESOURCE[, NAME[, SUBRESOURCE]].
func targetOf(r *http.Request) target {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var t target
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return target{resource: "other", verb: verbs[r.Method]} // versions, discovery
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		t.namespace, parts = parts[1], parts[2:]
	}
	t.resource = parts[0]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	t.verb = verbs[r.Method]
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") == "true":
		t.verb = "Watch"
	case r.Method == http.MethodGet && t.name == "":
		t.verb = "List"
	}
	return t
}

var verbs = map[string]string{
	http.MethodGet: "Get", http.MethodPost: "Create", http.MethodPut: "Update", http.MethodPatch: "Patch", http.MethodDelete: "Delete",
}
