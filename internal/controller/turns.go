package controller

import (
	"context"
	"sync"

	"github.com/sluice-delivery/sluice/internal/fair"
)

// turns lets a few goroutines at a time do something costly. Where several namespaces wait, they take turns, however many of their goroutines
// wait: a tenant waits for one of each other tenant at most.
type turns struct {
	mu   sync.Mutex
	free int
	line fair.Turns[chan struct{}]
}

func newTurns(atOnce int) *turns { return &turns{free: atOnce} }

// take waits for the turn of a namespace, or for the end of ctx. Who gets one must give it back.
func (t *turns) take(ctx context.Context, namespace string) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	ticket := t.line.Push(namespace, inTime, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-mine: // a turn came at the same moment, and goes to the next one
		t.next()
	default:
		t.line.Remove(ticket)
	}
	return context.Cause(ctx)
}

// give gives a turn back.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next()
}

func (t *turns) next() {
	first, ok := t.line.Pop(func(string) bool { return true })
	if !ok {
		t.free++
		return
	}
	close(first)
}
