package expr

import (
	"container/list"
	"sync"
)

// programs are the expressions that were used last. An AnalysisRun has its conditions checked in every pass, and evaluated with every
// measurement: each is compiled once.
var programs = newCache()

const (
	// maxCached is how many bytes of expressions are kept. What they are compiled to takes some fifty times as much at most.
	maxCached = 512 << 10
	// leastCached is what an expression counts for however short it is, for what it is compiled to.
	leastCached = 512
)

// cache keeps compiled expressions by their text, those that were used last. It is safe for use by several goroutines.
type cache struct {
	mu     sync.Mutex
	byText map[string]*list.Element
	// recent are the expressions in the order of their last use.
	recent *list.List
	bytes  int
}

// cached is an expression, or what is wrong with it.
type cached struct {
	text string
	err  error
	// truth is why it cannot be a condition.
	truth error
	// idle is a program that nobody runs, nil if there is none.
	idle *program
}

func newCache() *cache { return &cache{byText: map[string]*list.Element{}, recent: list.New()} }

// check is what is wrong with an expression as a condition.
func (c *cache) check(text string) error {
	p, truth, err := c.take(text)
	if err != nil {
		return err
	}
	c.put(text, p)
	return truth
}

// take returns a program for the caller alone, and why it cannot be a condition.
func (c *cache) take(text string) (p *program, truth, err error) {
	c.mu.Lock()
	if at, ok := c.byText[text]; ok {
		c.recent.MoveToFront(at)
		e := at.Value.(*cached)
		if p, e.idle = e.idle, nil; p != nil || e.err != nil {
			defer c.mu.Unlock()
			return p, e.truth, e.err
		}
	}
	c.mu.Unlock()
	if p, err = compile(text); err == nil {
		truth = p.giveTruth()
	}
	c.add(&cached{text: text, err: err, truth: truth})
	return p, truth, err
}

// put gives a program back.
func (c *cache) put(text string, p *program) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byText[text]; ok {
		p.run.ctx = nil
		at.Value.(*cached).idle = p
	}
}

func (c *cache) add(e *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byText[e.text]; ok {
		return
	}
	c.byText[e.text] = c.recent.PushFront(e)
	c.bytes += weight(e.text)
	for c.bytes > maxCached {
		last := c.recent.Back()
		text := c.recent.Remove(last).(*cached).text
		delete(c.byText, text)
		c.bytes -= weight(text)
	}
}

func weight(text string) int { return max(len(text), leastCached) }
