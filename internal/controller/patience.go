package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// patience is how long counts of pods may wait that follow a status: autoscalers and people read them.
const patience = time.Second

// recordDue is when a record that can wait is to be written: zero if now. That is at once where nothing was written for a while. Otherwise it is
// written together with all else that comes meanwhile, a second after the first count that it shows at the latest.
func (m *memory) recordDue(owner types.NamespacedName, now time.Time) (due time.Time) {
	m.of(owner, func(r *recollection) {
		since := r.waiting
		if since.IsZero() {
			since = now
			if !within(r.recorded, now) {
				return
			}
		}
		if within(since, now) {
			r.waiting, due = since, since.Add(patience)
		}
	})
	return due
}

// within reports whether now is less than patience after then. It is not where the clock was set back.
func within(then, now time.Time) bool { return !now.Before(then) && now.Before(then.Add(patience)) }

// recorded notes that a status was written, with all counts.
func (m *memory) recorded(owner types.NamespacedName, now time.Time) {
	m.of(owner, func(r *recollection) { r.recorded, r.waiting = now, time.Time{} })
}

// settled notes that what is written is what there is: nothing waits.
func (m *memory) settled(owner types.NamespacedName) {
	m.of(owner, func(r *recollection) { r.waiting = time.Time{} })
}
