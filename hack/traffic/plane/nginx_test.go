package plane

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// NGINX ends up with what it was told last, also where it is told so while it reads its file. It once read half of a file that was written again with
// the same text, kept what it had, and was not told again.
func TestNGINXFollows(t *testing.T) {
	program := findNGINX(t)
	if program == "" {
		t.Skip("not run: NGINX is not installed: apt-get install nginx-light")
	}
	n, err := startNGINX(Options{NGINX: program, Folder: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.stop(); err != nil {
			t.Error(err)
		}
	}()
	for range 20 {
		for _, endpoints := range [][]string{nil, {"10.9.9.9"}} {
			v := view{services: map[string]*corev1.Service{}, slices: map[string][]*discoveryv1.EndpointSlice{}}
			v.service("web", endpoints...)
			v.ingress("web", "web")
			for range 20 {
				n.see(v)
			}
			// Without endpoints, NGINX says 503 itself; with some it asks them, and nobody is there.
			n.until(t, func(status int) bool { return (status == http.StatusServiceUnavailable) == (len(endpoints) == 0) })
		}
	}
}

// until waits until NGINX answers as wanted.
func (n *nginx) until(t *testing.T, wanted func(status int) bool) {
	t.Helper()
	last := 0
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.address, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = "web.example.org"
		request.Close = true // an old worker keeps its connections
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if last = answer.StatusCode; wanted(last) {
			return
		}
	}
	t.Fatalf("NGINX still answers %d", last)
}
