package fair

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// server answers when it is told to.
type server struct {
	arrived chan string
	answer  chan struct{}
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.arrived <- r.URL.Path
	<-s.answer
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func send(ctx context.Context, g *Gate, path string) chan error {
	done := make(chan error, 1)
	go func() {
		response, err := g.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
		if err == nil {
			err = response.Body.Close()
		}
		done <- err
	}()
	return done
}

const rollouts = "/apis/argoproj.io/v1alpha1/namespaces/"

func newServer() *server {
	return &server{arrived: make(chan string, 1000), answer: make(chan struct{})}
}

func TestGateLeavesPlacesForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		g := NewGate(s, clock.RealClock{})
		var tenant []chan error
		for range 10 * gateMost {
			tenant = append(tenant, send(t.Context(), g, rollouts+"tenant/rollouts/a"))
		}
		synctest.Wait()
		if n := len(s.arrived); n != gateMost/gateParts {
			t.Errorf("%d requests of one namespace are under way, want %d", n, gateMost/gateParts)
		}
		for len(s.arrived) > 0 {
			<-s.arrived
		}
		neighbor := send(t.Context(), g, rollouts+"neighbor/rollouts/b")
		synctest.Wait()
		if path := <-s.arrived; path != rollouts+"neighbor/rollouts/b" {
			t.Errorf("%s is under way before the neighbor's", path)
		}
		close(s.answer)
		for _, done := range append(tenant, neighbor) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestGateFollowsTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		g := NewGate(s, clock.RealClock{})
		ask := func(times int, took time.Duration) {
			for range times {
				done := send(t.Context(), g, rollouts+"tenant/rollouts/a")
				<-s.arrived
				time.Sleep(took)
				s.answer <- struct{}{}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
		}
		ask(1000, 150*time.Millisecond)
		if g.limit != gateMost {
			t.Errorf("%.0f requests may be under way where all take the same time, want %d", g.limit, gateMost)
		}
		ask(100, 700*time.Millisecond)
		if g.limit != gateLeast {
			t.Errorf("%.0f requests may be under way where they take much longer than before, want %d", g.limit, gateLeast)
		}
		ask(1000, 200*time.Millisecond)
		if g.limit < gateMost/2 {
			t.Errorf("%.0f requests may be under way after 1,000 fast answers, want half of %d at least", g.limit, gateMost)
		}
		ask(4000, 700*time.Millisecond) // the API server has become another one
		if g.limit != gateMost {
			t.Errorf("%.0f requests may be under way once the fast ones are long ago, want %d", g.limit, gateMost)
		}
	})
}

func TestGateIsNotForEverything(t *testing.T) {
	for path, want := range map[string]string{
		rollouts + "a/rollouts/b/status":                                  "a",
		"/api/v1/namespaces/a/events":                                     "a",
		"/api/v1/namespaces/a":                                            "",
		"/api/v1/namespaces":                                              "",
		"/apis/argoproj.io/v1alpha1/rollouts":                             "",
		rollouts + "a/rollouts?watch=true":                                "",
		"/apis/coordination.k8s.io/v1/namespaces/a/leases/the-controller": "",
	} {
		tenant, shared := tenantOf(httptest.NewRequest(http.MethodGet, path, nil))
		if tenant != want || shared != (want != "") {
			t.Errorf("%s is of %q, shared %v; want %q", path, tenant, shared, want)
		}
	}
}

func TestGateLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		g := NewGate(s, clock.RealClock{})
		var all []chan error
		for range gateMost / gateParts {
			all = append(all, send(t.Context(), g, rollouts+"tenant/rollouts/a"))
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		given := send(ctx, g, rollouts+"tenant/rollouts/a")
		synctest.Wait()
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Errorf("a request that was given up ends with %v", err)
		}
		close(s.answer)
		for _, done := range all {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if g.places.waiting.Len() != 0 || g.places.taken != 0 {
			t.Errorf("%d wait and %d are under way when all have ended", g.places.waiting.Len(), g.places.taken)
		}
	})
}
