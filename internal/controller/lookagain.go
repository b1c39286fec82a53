package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// lookAgain is when a pass that could not be finished is repeated for the first time, should no event come first.
	lookAgain = 100 * time.Millisecond
	// lookAgainLongest is the longest time between two of these.
	lookAgainLongest = 2 * time.Second
)

// unfinished remembers since when passes over an object could not be finished because a cache lags or an object has moved on. The longer
// that lasts the seldomer they are repeated: where caches lag by minutes, thousands of objects must not be looked at ten times a second.
type unfinished struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

func newUnfinished(clk clock.PassiveClock) *unfinished {
	return &unfinished{clock: clk, since: map[types.NamespacedName]time.Time{}}
}

// again is when to look at an object whose pass could not be finished: after lookAgain, and then after twice as long each time. Passes that
// events begin in between count for nothing.
func (u *unfinished) again(key types.NamespacedName) reconcile.Result {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.clock.Now()
	since, there := u.since[key]
	if !there || now.Before(since) { // clocks are set back
		since = now
		u.since[key] = now
	}
	return reconcile.Result{RequeueAfter: min(now.Sub(since)+lookAgain, lookAgainLongest)}
}

// forget drops what is remembered of an object whose pass was finished, or that is gone.
func (u *unfinished) forget(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.since, key)
}
