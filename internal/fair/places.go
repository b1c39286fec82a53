package fair

import (
	"context"
	"sync"
)

// Places lets a few goroutines at a time do something costly. Where several tenants wait they take turns, however many of their goroutines
// wait: a tenant waits for one of each other tenant at most.
type Places struct {
	mu            sync.Mutex
	atOnce, share int
	taken         int
	held          map[string]int
	waiting       Turns[chan struct{}]
}

// NewPlaces has atOnce places, of which one tenant may hold share.
func NewPlaces(atOnce, share int) *Places {
	return &Places{atOnce: atOnce, share: share, held: map[string]int{}}
}

// Take waits for a tenant's place, or for the end of ctx. Who gets one must give it back.
func (p *Places) Take(ctx context.Context, tenant string) error {
	p.mu.Lock()
	if p.fits(tenant) {
		p.hold(tenant, 1)
		p.mu.Unlock()
		return nil
	}
	admitted := make(chan struct{})
	ticket := p.waiting.Push(tenant, 0, admitted)
	p.mu.Unlock()
	select {
	case <-admitted:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-admitted: // a place came free in the same moment, and goes to the next one
		p.hold(tenant, -1)
		p.admit()
	default:
		p.waiting.Remove(ticket)
	}
	return context.Cause(ctx)
}

// Give gives a tenant's place back.
func (p *Places) Give(tenant string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold(tenant, -1)
	p.admit()
}

// Resize changes how many places there are, and how many of them one tenant may hold. Those that are taken stay taken.
func (p *Places) Resize(atOnce, share int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.atOnce, p.share = atOnce, share
	p.admit()
}

func (p *Places) fits(tenant string) bool { return p.taken < p.atOnce && p.held[tenant] < p.share }

func (p *Places) hold(tenant string, n int) {
	p.taken += n
	p.held[tenant] += n
	if p.held[tenant] == 0 {
		delete(p.held, tenant)
	}
}

// admit lets those in that fit now.
func (p *Places) admit() {
	for {
		var of string
		admitted, ok := p.waiting.Pop(func(tenant string) bool { of = tenant; return p.fits(tenant) })
		if !ok {
			return
		}
		p.hold(of, 1)
		close(admitted)
	}
}
