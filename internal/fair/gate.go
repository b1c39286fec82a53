package fair

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// How many requests may be under way together: at least gateLeast, at most gateMost, of which one namespace has one in gateParts. One that takes
// longer than slow says that there are too many.
const (
	gateLeast = 8
	gateMost  = 64
	gateParts = 8
	slow      = 100 * time.Millisecond
)

// Gate is an [http.RoundTripper] to an API server that lets namespaces share the requests that are under way. A namespace has a part of them and
// no more, so that an API server which is busy with the large objects of one answers those of another at once.
//
// How many there may be follows the API server: one more for each round of answers that come fast, a tenth fewer for each one that comes slowly.
// (Additive increase and multiplicative decrease, as TCP has it: Chiu and Jain, 1989.) Requests that are for no namespace, leases and watches
// never wait.
type Gate struct {
	next  http.RoundTripper
	clock clock.PassiveClock

	mu      sync.Mutex
	limit   float64
	used    int
	held    map[string]int
	waiting Turns[chan struct{}]
}

// NewGate lets requests through to next.
func NewGate(next http.RoundTripper, c clock.PassiveClock) *Gate {
	return &Gate{next: next, clock: c, limit: gateMost, held: map[string]int{}}
}

// RoundTrip waits for a place, and sends the request. While it waits it can be given up by its context.
func (g *Gate) RoundTrip(r *http.Request) (*http.Response, error) {
	tenant, shared := tenantOf(r)
	if !shared {
		return g.next.RoundTrip(r)
	}
	if err := g.enter(r.Context(), tenant); err != nil {
		return nil, err
	}
	sent := g.clock.Now()
	defer func() { g.leave(tenant, g.clock.Since(sent)) }()
	return g.next.RoundTrip(r)
}

// tenantOf is the namespace that a request is for, and whether it has to share.
func tenantOf(r *http.Request) (tenant string, shared bool) {
	_, path, ok := strings.Cut(r.URL.Path, "/namespaces/")
	tenant, path, within := strings.Cut(path, "/")
	if !ok || !within || r.URL.Query().Get("watch") == "true" || strings.HasPrefix(path, "leases") {
		return "", false
	}
	return tenant, true
}

func (g *Gate) enter(ctx context.Context, tenant string) error {
	g.mu.Lock()
	if g.fits(tenant) {
		g.take(tenant, 1)
		g.mu.Unlock()
		return nil
	}
	admitted := make(chan struct{})
	ticket := g.waiting.Push(tenant, 0, admitted)
	g.mu.Unlock()
	select {
	case <-admitted:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-admitted: // in the same moment: the place is for the next one
		g.take(tenant, -1)
		g.admit()
	default:
		g.waiting.Remove(ticket)
	}
	return context.Cause(ctx)
}

func (g *Gate) leave(tenant string, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if took > slow {
		g.limit = max(gateLeast, g.limit*0.9)
	} else {
		g.limit = min(gateMost, g.limit+1/g.limit)
	}
	g.take(tenant, -1)
	g.admit()
}

// fits reports whether a namespace may have one more request under way.
func (g *Gate) fits(tenant string) bool {
	return g.used < int(g.limit) && g.held[tenant] < max(1, int(g.limit/gateParts))
}

func (g *Gate) take(tenant string, n int) {
	g.used += n
	g.held[tenant] += n
	if g.held[tenant] == 0 {
		delete(g.held, tenant)
	}
}

// admit lets those in that fit now.
func (g *Gate) admit() {
	for {
		var of string
		admitted, ok := g.waiting.Pop(func(tenant string) bool { of = tenant; return g.fits(tenant) })
		if !ok {
			return
		}
		g.take(of, 1)
		close(admitted)
	}
}
