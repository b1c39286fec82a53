package controller

import (
	"context"
	"fmt"
	"sync"

	"github.com/sluice-delivery/sluice/internal/fair"
)

const (
	// mostBytes is how much of answers is held: being read, or read and not in a status yet. Read as JSON they take twelve times as much
	// at worst.
	mostBytes = 16 << 20
	// mostAtOnce is the most that an answer grows by at once. One that waits needs room for it.
	mostAtOnce = 64 << 10
)

// memory bounds the bytes of all answers together. Namespaces share it. An answer for which there is no room waits for some until its
// measurement times out, and namespaces are served in turn.
type memory struct {
	mu     sync.Mutex
	shares *fair.Shares
	line   fair.Turns[*growth]
}

// growth is a claim that waits for n bytes.
type growth struct {
	claim *claim
	n     int64
	done  chan struct{}
}

// claim is what one answer holds.
type claim struct {
	memory    *memory
	namespace string
	bytes     int64
}

func newMemory() *memory { return &memory{shares: fair.NewShares(mostBytes, 1)} }

func (m *memory) claim(namespace string) *claim { return &claim{memory: m, namespace: namespace} }

// Grow takes n bytes more, mostAtOnce at a time, and waits until there is room for them.
func (c *claim) Grow(ctx context.Context, n int64) error {
	for n > 0 {
		part := min(n, mostAtOnce)
		if err := c.grow(ctx, part); err != nil {
			return err
		}
		n -= part
	}
	return nil
}

func (c *claim) grow(ctx context.Context, n int64) error {
	m := c.memory
	m.mu.Lock()
	if m.shares.Take(c.namespace, n) {
		c.bytes += n
		m.mu.Unlock()
		return nil
	}
	g := &growth{claim: c, n: n, done: make(chan struct{})}
	ticket := m.line.Push(c.namespace, inTime, g)
	m.mu.Unlock()
	select {
	case <-g.done:
		return nil
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-g.done: // it was granted at the same moment
		return nil
	default:
		m.line.Remove(ticket)
		return fmt.Errorf("namespace %s has too many large answers at once, and there was no room for this one: ask for less (%w)",
			c.namespace, ctx.Err())
	}
}

// release returns what an answer holds.
func (c *claim) release() {
	m := c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.bytes == 0 {
		return
	}
	m.shares.Give(c.namespace, c.bytes)
	c.bytes = 0
	for m.line.Len() > 0 {
		g, ok := m.line.Pop(func(namespace string) bool { return m.shares.Fits(namespace, mostAtOnce) })
		if !ok {
			return
		}
		m.shares.Take(g.claim.namespace, g.n)
		g.claim.bytes += g.n
		close(g.done)
	}
}
