package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Counts are written at once where nothing was written before, and what follows a status within a second of the first count that it shows.
func TestCountsAreWrittenAtOnceAndWhatFollowsWithinASecond(t *testing.T) {
	web, other := types.NamespacedName{Name: "web"}, types.NamespacedName{Name: "other"}
	start := time.Unix(1000, 0)
	ms := func(n int) time.Time { return start.Add(time.Duration(n) * time.Millisecond) }
	type step struct {
		at      int // milliseconds
		rollout types.NamespacedName
		wrote   bool
		settled bool
		want    time.Time
	}
	for name, steps := range map[string][]step{
		"where nothing was written": {{rollout: web}},
		"a second after the first count that waits": {
			{rollout: web, wrote: true, want: ms(1000)},
			{at: 400, rollout: web, want: ms(1000)},
			{at: 999, rollout: web, want: ms(1000)},
			{at: 1000, rollout: web},
		},
		"the second begins with the count, not with the status": {
			{rollout: web, wrote: true, settled: true},
			{at: 900, rollout: web, want: ms(1900)},
			{at: 1899, rollout: web, want: ms(1900)},
			{at: 1900, rollout: web},
		},
		"at once where the status is older than a second": {
			{rollout: web, wrote: true, settled: true},
			{at: 1000, rollout: web},
		},
		"a decision takes the counts along": {
			{rollout: web, wrote: true, want: ms(1000)},
			{at: 600, rollout: web, wrote: true, want: ms(1600)},
			{at: 1599, rollout: web, want: ms(1600)},
		},
		"counts that went back wait no more": {
			{rollout: web, wrote: true, settled: true},
			{at: 100, rollout: web, want: ms(1100)},
			{at: 500, rollout: web, settled: true},
			{at: 800, rollout: web, want: ms(1800)},
		},
		"each Rollout for itself":     {{rollout: web, wrote: true, want: ms(1000)}, {at: 100, rollout: other}},
		"where the clock is set back": {{rollout: web, wrote: true, want: ms(1000)}, {at: -3600_000, rollout: web}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			for _, s := range steps {
				if s.wrote {
					m.recorded(s.rollout, ms(s.at))
				}
				if s.settled {
					m.settled(s.rollout)
					continue
				}
				if got := m.recordDue(s.rollout, ms(s.at)); !got.Equal(s.want) {
					t.Errorf("after %d ms the counts of %s are due at %s, not %s", s.at, s.rollout.Name, got, s.want)
				}
			}
		})
	}
	m := newMemory()
	m.recorded(web, start)
	m.forget(web)
	if len(m.owners) > 0 {
		t.Errorf("a Rollout that is gone is remembered: %v", m.owners)
	}
}
