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

// byteBudget bounds the bytes of all answers together. Namespaces share it. An answer for which there is no room waits for some until its
// measurement times out, and namespaces are served in turn.
type byteBudget struct {
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
	budget    *byteBudget
	namespace string
	bytes     int64
}

func newByteBudget() *byteBudget { return &byteBudget{shares: fair.NewShares(mostBytes, 1)} }

func (b *byteBudget) claim(namespace string) *claim { return &claim{budget: b, namespace: namespace} }

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
	b := c.budget
	b.mu.Lock()
	if b.shares.Take(c.namespace, n) {
		c.bytes += n
		b.mu.Unlock()
		return nil
	}
	g := &growth{claim: c, n: n, done: make(chan struct{})}
	ticket := b.line.Push(c.namespace, inTime, g)
	b.mu.Unlock()
	select {
	case <-g.done:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-g.done: // it was granted at the same moment
		return nil
	default:
		b.line.Remove(ticket)
		return fmt.Errorf("namespace %s has too many large answers at once, and there was no room for this one: ask for less (%w)",
			c.namespace, ctx.Err())
	}
}

// release returns what an answer holds.
func (c *claim) release() {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.bytes == 0 {
		return
	}
	b.shares.Give(c.namespace, c.bytes)
	c.bytes = 0
	for b.line.Len() > 0 {
		g, ok := b.line.Pop(func(namespace string) bool { return b.shares.Fits(namespace, mostAtOnce) })
		if !ok {
			return
		}
		b.shares.Take(g.claim.namespace, g.n)
		g.claim.bytes += g.n
		close(g.done)
	}
}
