package capacity

// LeastOf is how many of n pods must be available when up to `unavailable` may be missing. It is at least one.
func LeastOf(n, unavailable int32) int32 { return max(min(1, n), n-unavailable) }

// Counts is how many pods the two versions of a canary should have.
type Counts struct {
	Canary, Stable int32
}

// IdealCounts is the split of replicas that comes closest to the weight when pods are the only way to split traffic: without
// a router the share of pods is the share of requests.
//
// It is the nearest whole share, halves going to the canary: 41 % of 10 is 4, 45 % of 10 is 5. While both versions serve
// (0 < weight < maxWeight) each keeps at least one pod wherever two pods fit, so 1 % of 10 is 1 and not 0. With surge the total
// may be replicas+1 where that is closer. One pod without surge cannot be split: it goes to the nearer side, halves to the canary.
//
// The table of this rule is Argo Rollouts', except for five rows in which a tie left the canary without a pod.
func IdealCounts(replicas, weight, maxWeight, surge int32) Counts {
	if replicas == 0 {
		return Counts{}
	}
	total := []int32{replicas}
	if surge > 0 {
		total = append(total, replicas+1)
	}
	oneSided := replicas == 1 && surge == 0 // there is only one pod to give
	product := int64(replicas) * int64(weight)
	floor, ceiling := int32(product/int64(maxWeight)), int32((product+int64(maxWeight)-1)/int64(maxWeight))
	best, found := Counts{}, false
	consider := func(canary, total int32) {
		if !found || closer(canary, total, best.Canary, best.Canary+best.Stable, weight, maxWeight) {
			best, found = Counts{Canary: canary, Stable: total - canary}, true
		}
	}
	for _, n := range total {
		if ceiling < n || oneSided {
			consider(ceiling, n) // first, so that a tie goes up
		}
		if floor > 0 || oneSided {
			consider(floor, n)
		}
	}
	return best
}

// closer reports whether a of aTotal is strictly nearer to weight/maxWeight than b of bTotal. Whole numbers only: the answer
// must not depend on how a fraction happens to be rounded.
func closer(a, aTotal, b, bTotal, weight, maxWeight int32) bool {
	distance := func(n, total int32) int64 { // |n/total − weight/maxWeight|, times total·maxWeight
		d := int64(n)*int64(maxWeight) - int64(weight)*int64(total)
		return max(d, -d)
	}
	return distance(a, aTotal)*int64(bTotal) < distance(b, bTotal)*int64(aTotal)
}

// ReplicaCounts is one ReplicaSet as the arithmetic sees it.
type ReplicaCounts struct {
	Desired   int32 // spec.replicas
	Actual    int32 // status.replicas: pods that exist and are not being deleted
	Available int32 // ready for at least minReadySeconds
}

// Occupies is how many pods a version holds or is about to hold. One that was told to shrink still has its pods until the
// ReplicaSet controller has taken them away, and one that was told to grow will have them.
func (f ReplicaCounts) Occupies() int32 { return max(f.Desired, f.Actual) }

// Serving is how many pods can be relied on: those that are available and will stay.
func (f ReplicaCounts) Serving() int32 { return min(f.Desired, f.Available) }

// Limits are the bounds within which a basic canary moves.
type Limits struct {
	Replicas       int32
	MaxSurge       int32
	MaxUnavailable int32
}

func (l Limits) most() int32 { return l.Replicas + l.MaxSurge }

func (l Limits) minAvailable() int32 { return l.Replicas - l.MaxUnavailable }

// BasicCounts is the next size of both versions on the way to ideal, within the limits.
//
// Scaling up uses what is free below replicas+maxSurge, the stable version first because it carries the traffic. Scaling down takes
// only what exceeds replicas−maxUnavailable in pods that are available now. Both may happen in one reconcile: new pods do not count
// as available, and deleted pods do not free surge until they are gone. While any older version has pods, neither version is scaled
// down: the oldest are first.
func BasicCounts(l Limits, ideal Counts, canary, stable ReplicaCounts, others []ReplicaCounts) Counts {
	next := grow(l, ideal, canary, stable, others)
	for _, o := range others {
		if o.Desired > 0 {
			return next
		}
	}
	return shrink(l, ideal, next, canary, stable)
}

func grow(l Limits, ideal Counts, canary, stable ReplicaCounts, others []ReplicaCounts) Counts {
	free := l.most() - canary.Occupies() - stable.Occupies()
	for _, o := range others {
		free -= o.Occupies()
	}
	next := Counts{Canary: canary.Desired, Stable: stable.Desired}
	if n := min(free, ideal.Stable-stable.Desired); n > 0 {
		next.Stable, free = next.Stable+n, free-n
	}
	if n := min(free, ideal.Canary-canary.Desired); n > 0 {
		next.Canary += n
	}
	return next
}

// shrink drains the version that loses weight. Its broken pods count as if they served: the version may be removed completely, however
// many of its pods never started, as long as the other version's available pods meet the minimum. The ReplicaSet controller deletes
// unready pods first, so the count never costs more available pods than it says.
func shrink(l Limits, ideal, next Counts, canary, stable ReplicaCounts) Counts {
	if ideal.Canary < canary.Desired {
		d, k := drain(l, canary, stable, next.Canary, next.Stable, ideal.Canary)
		return Counts{Canary: d, Stable: k}
	}
	d, k := drain(l, stable, canary, next.Stable, next.Canary, ideal.Stable)
	return Counts{Canary: k, Stable: d}
}

// drain returns how many of their d and k pods the drained and the kept version should keep, the drained one on its way to
// target.
func drain(l Limits, drained, kept ReplicaCounts, d, k, target int32) (drainedTo, keptTo int32) {
	excess := kept.Serving() + drained.Desired - l.minAvailable()
	if excess <= 0 {
		return d, k
	}
	if target < d {
		d = max(target, d-excess)
	}

	// replicas may have fallen below what runs. The kept version gives up pods first, as far as they are not needed to stay
	// above the minimum; the rest comes from the drained one.
	over := max(0, d+k-l.most())
	before := min(k, kept.Available)
	k = max(0, k-over)
	lost := before - min(k, kept.Available)
	if shortage := l.minAvailable() - min(k, kept.Available) - min(d, drained.Available); shortage > 0 {
		k += min(lost, shortage)
	}
	d = max(0, d-max(0, d+k-l.most()))
	return d, k
}

// OldCounts is the next size of each ReplicaSet that is neither the new nor the stable one, newest first, in a basic canary.
// Pods that are not available go at once; the others as far as the available pods of all versions stay above the minimum.
func OldCounts(l Limits, serving int32, others []ReplicaCounts) []int32 {
	spare := max(0, serving-l.minAvailable())
	next := make([]int32, len(others))
	for i, o := range others {
		down := min(o.Serving(), spare)
		next[i], spare = o.Serving()-down, spare-down
	}
	return next
}
