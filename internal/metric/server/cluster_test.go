package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// TestTheProofOfWhoAsksGoesToTheClusterOnly, also where an adapter redirects.
func TestTheProofOfWhoAsksGoesToTheClusterOnly(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another server is asked") }))
	t.Cleanup(elsewhere.Close)
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		}
	}))
	t.Cleanup(cluster.Close)
	network := server.Only(parsed(t, cluster.URL), http.DefaultTransport)
	for path, want := range map[string]string{"/": "", "/away": "which is not asked"} {
		_, err := server.Ask(t.Context(), server.Question{Options: server.Options{URL: cluster.URL + path, Network: network}, Timeout: time.Minute})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// TestAClusterIsAskedByAFewAtATime: more measurements than may be under way all get their answers, one after the other.
func TestAClusterIsAskedByAFewAtATime(t *testing.T) {
	const most, all = 50, 200
	var mu sync.Mutex
	now, highest := 0, 0
	full := make(chan struct{})
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		now++
		highest = max(highest, now)
		if now == most && highest == most {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		mu.Unlock()
		<-full // nobody is answered before as many are here as may be
		mu.Lock()
		now--
		mu.Unlock()
		_, _ = fmt.Fprint(w, "{}")
	}))
	t.Cleanup(cluster.Close)
	network := server.Only(parsed(t, cluster.URL), http.DefaultTransport)
	var asking sync.WaitGroup
	for range all {
		asking.Go(func() {
			answer, err := server.Ask(t.Context(), server.Question{Options: server.Options{URL: cluster.URL, Network: network}, Timeout: time.Minute})
			if err != nil || !answer.OK() {
				t.Errorf("%v %v", answer, err)
			}
		})
	}
	asking.Wait()
	if highest != most {
		t.Errorf("%d requests were under way, want %d", highest, most)
	}
}

func parsed(t *testing.T, address string) *url.URL {
	t.Helper()
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
