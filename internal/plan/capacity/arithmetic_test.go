package capacity

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestIdealCountsTable is canary/stable for weights of 100, as Argo Rollouts was seen to compute it. Two of its five known anomalies are in
// the table; they read 1/1 and 4/1 here.
func TestIdealCountsTable(t *testing.T) {
	const table = `
		replicas surge w1  w5  w10 w20 w25 w33 w40 w50 w60 w75 w90 w99 w100
		1  0  0/1 0/1 0/1 0/1 0/1 0/1 0/1 1/0 1/0 1/0 1/0 1/0 1/0
		1  1  1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/0
		2  0  1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 2/0
		2  1  1/2 1/2 1/2 1/2 1/2 1/2 1/2 1/1 2/1 2/1 2/1 2/1 2/0
		3  0  1/2 1/2 1/2 1/2 1/2 1/2 1/2 2/1 2/1 2/1 2/1 2/1 3/0
		3  1  1/3 1/3 1/3 1/3 1/3 1/2 1/2 2/2 2/1 3/1 3/1 3/1 3/0
		4  0  1/3 1/3 1/3 1/3 1/3 1/3 2/2 2/2 2/2 3/1 3/1 3/1 4/0
		4  1  1/4 1/4 1/4 1/4 1/3 2/3 2/3 2/2 3/2 3/1 4/1 4/1 4/0
		5  0  1/4 1/4 1/4 1/4 1/4 2/3 2/3 3/2 3/2 4/1 4/1 4/1 5/0
		5  1  1/5 1/5 1/5 1/4 1/4 2/4 2/3 3/3 3/2 4/1 5/1 5/1 5/0
		7  0  1/6 1/6 1/6 1/6 2/5 2/5 3/4 4/3 4/3 5/2 6/1 6/1 7/0
		7  1  1/7 1/7 1/7 2/6 2/6 2/5 3/5 4/4 5/3 6/2 7/1 7/1 7/0
		10 0  1/9 1/9 1/9 2/8 3/7 3/7 4/6 5/5 6/4 8/2 9/1 9/1 10/0
		10 1  1/10 1/10 1/9 2/8 3/8 3/7 4/6 5/5 6/4 8/3 9/1 10/1 10/0`
	lines := strings.Split(strings.TrimSpace(table), "\n")
	header := strings.Fields(lines[0])
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		replicas, surge := atoi(t, cells[0]), atoi(t, cells[1])
		for i := 2; i < len(cells); i++ {
			weight := atoi(t, header[i][1:])
			got := IdealCounts(replicas, weight, 100, surge)
			if s := fmt.Sprintf("%d/%d", got.Canary, got.Stable); s != cells[i] {
				t.Errorf("idealCounts(replicas %d, weight %d, surge %d) = %s, want %s", replicas, weight, surge, s, cells[i])
			}
		}
	}
}

func TestIdealCountsOfTheSeed(t *testing.T) {
	for name, c := range map[string]struct {
		replicas, weight int32
		want             Counts
	}{
		"10 % of 10 is 1":                 {10, 10, Counts{1, 9}},
		"41 % of 10 is nearer to 4":       {10, 41, Counts{4, 6}},
		"45 % of 10 is a tie and goes up": {10, 45, Counts{5, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := IdealCounts(c.replicas, c.weight, 100, 0); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// What must hold for every size, weight and surge: more weight never means fewer canary pods or more stable ones, the sum is
// replicas or one more within the surge, both sides have a pod while both serve, and the ends are all or nothing.
func TestIdealCountsProperties(t *testing.T) {
	for _, maxWeight := range []int32{100, 1000, 7} {
		for replicas := int32(0); replicas <= 100; replicas++ {
			for surge := int32(0); surge <= 2; surge++ {
				previous := Counts{Canary: 0, Stable: replicas + 1}
				for weight := int32(0); weight <= maxWeight; weight++ {
					got := IdealCounts(replicas, weight, maxWeight, surge)
					where := fmt.Sprintf("replicas %d, weight %d of %d, surge %d: %+v", replicas, weight, maxWeight, surge, got)
					total := got.Canary + got.Stable
					if total < replicas || total > replicas+min(surge, 1) {
						t.Fatalf("%s: total %d", where, total)
					}
					if got.Canary < previous.Canary {
						t.Fatalf("%s: fewer canary pods than at a smaller weight: %+v", where, previous)
					}
					if between := weight > 0 && weight < maxWeight; between && replicas+surge >= 2 && replicas > 0 && (got.Canary == 0 || got.Stable == 0) {
						t.Fatalf("%s: a version that serves has no pod", where)
					}
					if weight == 0 && got != (Counts{0, replicas}) || weight == maxWeight && got != (Counts{replicas, 0}) {
						t.Fatalf("%s: all or nothing expected", where)
					}
					previous = got
				}
			}
		}
	}
}

func TestBasicCounts(t *testing.T) {
	all := func(n int32) ReplicaCounts { return ReplicaCounts{Desired: n, Actual: n, Available: n} }
	for name, c := range map[string]struct {
		limits         Limits
		weight         int32
		canary, stable ReplicaCounts
		others         []ReplicaCounts
		want           Counts
	}{
		"one up and one down at once":             {Limits{10, 1, 1}, 10, all(0), all(10), nil, Counts{1, 9}},
		"surge only: up first":                    {Limits{10, 3, 0}, 30, all(0), all(10), nil, Counts{3, 10}},
		"no surge: drain first, then up":          {Limits{10, 0, 5}, 30, all(0), all(10), nil, Counts{0, 7}},
		"one pod with surge keeps the stable":     {Limits{1, 1, 0}, 5, all(0), all(1), nil, Counts{1, 1}},
		"one pod nearly done keeps the stable":    {Limits{1, 1, 0}, 95, all(0), all(1), nil, Counts{1, 1}},
		"a shrunk version's pods still take room": {Limits{4, 1, 0}, 75, ReplicaCounts{1, 1, 1}, ReplicaCounts{3, 4, 4}, nil, Counts{1, 3}},
		"the canary never starts: stable stays":   {Limits{4, 1, 0}, 50, ReplicaCounts{1, 1, 0}, all(4), nil, Counts{1, 4}},
		"the stable version is broken: it goes":   {Limits{4, 1, 1}, 100, ReplicaCounts{1, 1, 1}, ReplicaCounts{4, 4, 0}, nil, Counts{1, 2}},
		"a broken canary is removed completely":   {Limits{4, 1, 0}, 0, ReplicaCounts{1, 1, 0}, all(4), nil, Counts{0, 4}},
		"nothing shrinks beside an older one":     {Limits{4, 1, 1}, 50, all(0), all(3), []ReplicaCounts{all(1)}, Counts{1, 3}},
		"scaled in: the larger side gives":        {Limits{4, 1, 1}, 50, all(5), all(5), nil, Counts{2, 3}},
		"scaled in: broken pods give more":        {Limits{4, 0, 1}, 75, ReplicaCounts{4, 4, 1}, all(4), nil, Counts{2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			ideal := IdealCounts(c.limits.Replicas, c.weight, 100, c.limits.MaxSurge)
			if diff := cmp.Diff(c.want, BasicCounts(c.limits, ideal, c.canary, c.stable, c.others)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestOldCounts(t *testing.T) {
	l := Limits{Replicas: 10, MaxSurge: 0, MaxUnavailable: 1}
	others := []ReplicaCounts{{Desired: 3, Actual: 3, Available: 1}, {Desired: 2, Actual: 2, Available: 2}}
	// 11 serve in all, 9 are the minimum: the newest's two broken pods go, then two that serve, newest first.
	if diff := cmp.Diff([]int32{0, 1}, OldCounts(l, 11, others)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]int32{1, 2}, OldCounts(l, 9, others)); diff != "" {
		t.Errorf("nothing that serves may go at the minimum (-want +got)\n%s", diff)
	}
}

// From any start, moving pod by pod as a ReplicaSet controller may, the Counts reach the ideal and never leave the Limits.
func TestBasicCountsConverge(t *testing.T) {
	for _, l := range []Limits{{10, 1, 0}, {10, 0, 1}, {5, 2, 2}, {1, 1, 0}, {1, 0, 1}, {3, 3, 0}, {7, 0, 7}} {
		for from := int32(0); from <= 100; from += 5 {
			for to := int32(0); to <= 100; to += 5 {
				start := IdealCounts(l.Replicas, from, 100, l.MaxSurge)
				want := IdealCounts(l.Replicas, to, 100, l.MaxSurge)
				canary, stable := start.Canary, start.Stable
				for range 4 * (l.Replicas + 1) {
					all := func(n int32) ReplicaCounts { return ReplicaCounts{Desired: n, Actual: n, Available: n} }
					next := BasicCounts(l, want, all(canary), all(stable), nil)
					if serving := min(canary, next.Canary) + min(stable, next.Stable); serving < l.minAvailable() {
						t.Fatalf("%+v from %d %% to %d %%: %d/%d to %+v serves with %d", l, from, to, canary, stable, next, serving)
					}
					if total := max(canary, next.Canary) + max(stable, next.Stable); total > max(l.most(), canary+stable) {
						t.Fatalf("%+v from %d %% to %d %%: %d/%d to %+v holds %d pods", l, from, to, canary, stable, next, total)
					}
					canary, stable = next.Canary, next.Stable
				}
				if got := (Counts{canary, stable}); got != want {
					t.Errorf("%+v from %d %% to %d %%: ends at %+v, want %+v", l, from, to, got, want)
				}
			}
		}
	}
}

func atoi(t *testing.T, s string) int32 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return int32(n)
}
