package shell

import (
	"cmp"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/internal/sim"
)

// queue is the queue of a controller: an object is in it once, at the earliest time that it was asked for, and after failures waits twice as
// long each time.
type queue struct {
	priorityqueue.PriorityQueue[reconcile.Request] // nobody calls the rest

	world    *sim.World
	at       map[reconcile.Request]time.Time
	failures map[reconcile.Request]int
}

func newQueue(w *sim.World) *queue {
	return &queue{world: w, at: map[reconcile.Request]time.Time{}, failures: map[reconcile.Request]int{}}
}

// Add has an object looked at as soon as there is a worker.
func (q *queue) Add(r reconcile.Request) { q.AddAfter(r, q.world.Lag()) }

// AddAfter has an object looked at after a while.
func (q *queue) AddAfter(r reconcile.Request, after time.Duration) {
	at := q.world.Now().Add(after)
	if have, waits := q.at[r]; !waits || at.Before(have) {
		q.at[r] = at
	}
}

// AddWithOpts has objects looked at. Priorities are for those who are short of time: here what is first is first.
func (q *queue) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, r := range requests {
		switch {
		case o.RateLimited:
			q.AddRateLimited(r)
		case o.After > 0:
			q.AddAfter(r, o.After)
		default:
			q.Add(r)
		}
	}
}

// AddRateLimited requeues an object after a failure: client-go's delays begin at 5ms.
func (q *queue) AddRateLimited(r reconcile.Request) {
	q.AddAfter(r, min(1000*time.Second, 5*time.Millisecond<<min(q.failures[r], 30)))
	q.failures[r]++
}

// Forget forgets failures.
func (q *queue) Forget(r reconcile.Request) { delete(q.failures, r) }

// next is what is looked at next, and when.
func (q *queue) next() (reconcile.Request, time.Time) {
	var first reconcile.Request
	var at time.Time
	for r, t := range q.at {
		if at.IsZero() || cmp.Or(t.Compare(at), cmp.Compare(r.Name, first.Name), cmp.Compare(r.Namespace, first.Namespace)) < 0 {
			first, at = r, t
		}
	}
	return first, at
}

// take takes out what is due, if anything is.
func (q *queue) take() (reconcile.Request, bool) {
	r, at := q.next()
	if at.IsZero() || at.After(q.world.Now()) {
		return r, false
	}
	delete(q.at, r)
	return r, true
}
