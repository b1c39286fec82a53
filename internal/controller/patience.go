package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// patience is how long counts of pods may wait that follow a status: autoscalers and people read them.
const patience = time.Second

// late remembers when the status of each Rollout was written last, and since when counts wait. A record that can wait is written at once
// where nothing was written for a while. Otherwise it is written together with all else that comes meanwhile, a second after the first
// count that it shows at the latest.
type late struct {
	mu       sync.Mutex
	rollouts map[types.NamespacedName]lateness
}

// lateness is when a status was written, and since when counts wait: zero if none do.
type lateness struct{ written, waiting time.Time }

func newLate() *late { return &late{rollouts: map[types.NamespacedName]lateness{}} }

// until is when a record that can wait is to be written: zero if now.
func (l *late) until(rollout types.NamespacedName, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.rollouts[rollout]
	since := of.waiting
	if since.IsZero() {
		since = now
		if !within(of.written, now) {
			return time.Time{}
		}
	}
	if !within(since, now) {
		return time.Time{}
	}
	of.waiting = since
	l.rollouts[rollout] = of
	return since.Add(patience)
}

// within reports whether now is less than patience after then. It is not where the clock was set back.
func within(then, now time.Time) bool { return !now.Before(then) && now.Before(then.Add(patience)) }

// wrote notes that a status was written, with all counts.
func (l *late) wrote(rollout types.NamespacedName, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rollouts[rollout] = lateness{written: now}
}

// settled notes that what is written is what there is: nothing waits.
func (l *late) settled(rollout types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of, there := l.rollouts[rollout]; there {
		of.waiting = time.Time{}
		l.rollouts[rollout] = of
	}
}

// forget drops what is remembered of a Rollout that is gone.
func (l *late) forget(rollout types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.rollouts, rollout)
}
