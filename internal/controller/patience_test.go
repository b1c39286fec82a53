package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Counts are written at once where nothing was written before, and what follows within a second.
func TestCountsAreWrittenAtOnceAndWhatFollowsWithinASecond(t *testing.T) {
	web, other := types.NamespacedName{Name: "web"}, types.NamespacedName{Name: "other"}
	start := time.Unix(1000, 0)
	after := start.Add
	l := newLate()
	for _, step := range []struct {
		at      time.Duration
		rollout types.NamespacedName
		wrote   bool
		want    time.Time
	}{
		{at: 0, rollout: web},
		{at: 0, rollout: web, wrote: true, want: after(time.Second)},
		{at: 400 * time.Millisecond, rollout: web, want: after(time.Second)},
		{at: 400 * time.Millisecond, rollout: other},
		{at: 600 * time.Millisecond, rollout: web, wrote: true, want: after(1600 * time.Millisecond)}, // a decision took the counts along
		{at: time.Second, rollout: web, want: after(1600 * time.Millisecond)},
		{at: 1600 * time.Millisecond, rollout: web},
		{at: 1600 * time.Millisecond, rollout: web, wrote: true, want: after(2600 * time.Millisecond)},
		{at: -time.Hour, rollout: web}, // the clock is set back
	} {
		if step.wrote {
			l.wrote(step.rollout, after(step.at))
		}
		if got := l.until(step.rollout, after(step.at)); !got.Equal(step.want) {
			t.Errorf("after %s the counts of %s are due at %s, not %s", step.at, step.rollout.Name, got, step.want)
		}
	}
	l.wrote(web, start)
	l.forget(web)
	if len(l.written) > 0 {
		t.Errorf("a Rollout that is gone is remembered: %v", l.written)
	}
}
