package fair

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// How many requests may be under way together: at least gateLeast, at most gateMost, of which one namespace has one in gateParts.
const (
	gateLeast = 8
	gateMost  = 64
	gateParts = 8
)

// A request says that there are too many when it takes slowTimes as long as the fastest one of the last window or the one before it, and
// slowLeast at least. What counts is not how far away the API server is, but how long requests wait there for each other.
const (
	slowTimes = 4
	slowLeast = 25 * time.Millisecond
	window    = 10 * time.Minute
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

	places *Places

	mu sync.Mutex
	// limit is how many requests may be under way, with the parts of one that it has come closer to the next.
	limit float64
	// fastest is how long the fastest request took of this window, which began at since, and of the one before; 0 for none.
	fastest [2]time.Duration
	since   time.Time
}

// NewGate lets requests through to next.
func NewGate(next http.RoundTripper, c clock.PassiveClock) *Gate {
	return &Gate{next: next, clock: c, limit: gateMost, places: NewPlaces(gateMost, gateMost/gateParts)}
}

// RoundTrip waits for a place, and sends the request. While it waits it can be given up by its context.
func (g *Gate) RoundTrip(r *http.Request) (*http.Response, error) {
	tenant, shared := tenantOf(r)
	if !shared {
		return g.next.RoundTrip(r)
	}
	if err := g.places.Take(r.Context(), tenant); err != nil {
		return nil, err
	}
	defer g.places.Give(tenant)
	sent := g.clock.Now()
	defer func() { g.follow(g.clock.Since(sent)) }()
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

// follow has the number of places follow how long a request took.
func (g *Gate) follow(took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.note(took)
	if took > g.slow() {
		g.limit = max(gateLeast, g.limit*0.9)
	} else {
		g.limit = min(gateMost, g.limit+1/g.limit)
	}
	g.places.Resize(int(g.limit), max(1, int(g.limit/gateParts)))
}

// note keeps how long the fastest requests took.
func (g *Gate) note(took time.Duration) {
	if now := g.clock.Now(); now.Sub(g.since) >= window {
		g.fastest = [2]time.Duration{0, g.fastest[0]}
		g.since = now
	}
	if g.fastest[0] == 0 || took < g.fastest[0] {
		g.fastest[0] = took
	}
}

// slow is how long a request takes that had to wait for others.
func (g *Gate) slow() time.Duration {
	fastest := g.fastest[0]
	if g.fastest[1] > 0 {
		fastest = min(fastest, g.fastest[1])
	}
	return max(slowLeast, slowTimes*fastest)
}
