package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// backoffShortest is when a pass that could not be finished is repeated for the first time, should no event come first.
	backoffShortest = 100 * time.Millisecond
	// backoffLongest is the longest time between two of these.
	backoffLongest = 2 * time.Second
)

// backoff is when to requeue an owner whose reconcile could not finish because a cache lags or an object has changed: after
// backoffShortest, and then after twice as long each time. Reconciles that events trigger in between do not count. If caches
// lag by minutes, thousands of objects must not be reconciled ten times a second.
func (m *memory) backoff(owner types.NamespacedName, now time.Time) (after time.Duration) {
	m.of(owner, func(r *recollection) {
		if r.unfinished.IsZero() || now.Before(r.unfinished) { // clocks are set back
			r.unfinished = now
		}
		after = min(now.Sub(r.unfinished)+backoffShortest, backoffLongest)
	})
	return after
}

// unfinishedSince is when to look again at what keeps a pass from being finished, and for how long it has.
func (m *memory) unfinishedSince(owner types.NamespacedName, now time.Time) (again, since time.Duration) {
	again = m.backoff(owner, now)
	m.of(owner, func(r *recollection) { since = now.Sub(r.unfinished) })
	return again, since
}

// finished notes that a pass was finished.
func (m *memory) finished(owner types.NamespacedName) {
	m.of(owner, func(r *recollection) { r.unfinished, r.notes = time.Time{}, onlyWaits(r.notes) })
}
