package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// patience is how long counts of pods gather before they are written.
const patience = 3 * time.Second

// late remembers since when each Rollout has a record that can wait.
type late struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

func newLate() *late { return &late{since: map[types.NamespacedName]time.Time{}} }

// until is when a record that can wait is to be written: zero if now.
func (l *late) until(rollout types.NamespacedName, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	since, waits := l.since[rollout]
	if !waits {
		l.since[rollout] = now
		since = now
	}
	if due := since.Add(patience); now.Before(due) {
		return due
	}
	return time.Time{}
}

// settle notes that there is nothing to write any more.
func (l *late) settle(rollout types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.since, rollout)
}
