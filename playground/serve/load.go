package serve

import (
	"sync"
	"time"
)

// Window is the time over which a server's load is measured, 10 s. It ends with the last full second.
const Window = 10 * time.Second

// defaultCost is the processor time that a request costs, unless its server says otherwise.
const defaultCost = time.Millisecond

// meter counts the requests of the last seconds.
type meter struct {
	mu sync.Mutex
	// counts of the last seconds: of the second s in the place s modulo their number. One more than the window has, for the second that is not over.
	counts [Window/time.Second + 1]struct{ second, requests int64 }
}

// add counts a request.
func (m *meter) add(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	second := at.Unix()
	c := &m.counts[second%int64(len(m.counts))]
	if c.second != second {
		c.second, c.requests = second, 0
	}
	c.requests++
}

// rate is the number of requests per second in the window before a time, or since the server began if that is later.
func (m *meter) rate(began, at time.Time) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := at.Unix()
	from := max(now-int64(Window/time.Second), began.Unix())
	if from >= now {
		return 0
	}
	var requests int64
	for _, c := range m.counts {
		if c.second >= from && c.second < now {
			requests += c.requests
		}
	}
	return float64(requests) / float64(now-from)
}

// Usage is the share of a processor that the server of a container needs for the requests that it answers: 1 is a whole one. It reports false if
// no such server runs.
func (p *Pods) Usage(key Key, at time.Time) (processors float64, serves bool) {
	p.mu.Lock()
	s := p.servers[key]
	p.mu.Unlock()
	if s == nil {
		return 0, false
	}
	cost := s.app.Cost
	if cost == 0 {
		cost = defaultCost
	}
	return s.load.rate(s.began, at) * cost.Seconds(), true
}
