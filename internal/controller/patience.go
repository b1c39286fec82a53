package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// patience is how long counts of pods gather that follow a status: autoscalers and people read them.
const patience = time.Second

// late remembers when the status of each Rollout was written last. A record that can wait is written at once where nothing was written
// for a while, and otherwise together with all else that comes meanwhile.
type late struct {
	mu      sync.Mutex
	written map[types.NamespacedName]time.Time
}

func newLate() *late { return &late{written: map[types.NamespacedName]time.Time{}} }

// until is when a record that can wait is to be written: zero if now.
func (l *late) until(rollout types.NamespacedName, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, there := l.written[rollout]
	if due := last.Add(patience); there && now.Before(due) && !now.Before(last) { // clocks are set back
		return due
	}
	delete(l.written, rollout)
	return time.Time{}
}

// wrote notes that a status was written.
func (l *late) wrote(rollout types.NamespacedName, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written[rollout] = now
}

// forget drops what is remembered of a Rollout that is gone.
func (l *late) forget(rollout types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.written, rollout)
}
