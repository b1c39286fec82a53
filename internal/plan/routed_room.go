package plan

// Where the number of pods is limited, the versions take turns: who is to lose traffic gives pods up, who is to gain it gets as many,
// then some of the traffic follows, and so on. One rule says for both sides how many pods a weight can do with; whoever keeps more
// than that while the other has no room gives them up. It leaves room for one unit of the weight more on the other side at least, so
// the turns come to an end.

// most is how many pods there may be where they are limited. A single one gets a second all the same: the other way to replace it would
// be to have none for a while.
func (r *routing) most() int32 {
	if !r.EnforceMaxSurge {
		return noLimit
	}
	return max(r.replicas()+r.canary.MaxSurge, 2*min(r.replicas(), 1))
}

const noLimit = 1 << 30

// free is how many pods may be added to those there are.
func (r *routing) free() int32 {
	n := r.most()
	for _, v := range r.all() {
		n -= v.fleet().occupies()
	}
	return max(0, n)
}

// roomFor is as much of a size as can be had where so many pods may be added.
func roomFor(v *version, to, free int32) int32 {
	return min(to, v.desired()+min(free, noLimit-v.desired()))
}

// sized is how many pods carry a weight: whole ones, and no fewer than a version is to have that has any.
func (r *routing) sized(weight int32) int32 {
	return r.atLeast(share(weight, r.replicas(), r.canary.MaxWeight))
}

// least is how many pods a weight can do with while the other side has no room: as many as may be missing are, and so is one that less than
// a unit of the weight is rounded up for.
func (r *routing) least(weight int32) int32 {
	return r.atLeast(min(weight, 1, r.replicas()) * max(1, tightShare(weight, r.replicas(), r.canary.MaxWeight)-r.canary.MaxUnavailable))
}

// keeps is how many pods a side keeps for a weight while the other is to have so many.
func (r *routing) keeps(weight int32, other *version, wanted int32) int32 {
	n := r.sized(weight)
	if other.desired() < wanted && n+other.desired() >= r.most() {
		return min(n, r.least(weight))
	}
	return n
}

// aim is how many pods the new version comes to at the current step. What the step asks for beyond the limit nobody can have: it gets
// what the stable version can spare.
func (r *routing) aim() int32 {
	weight := r.weight(r.canary)
	n, _ := r.canarySize(weight)
	if !r.DynamicStableScale {
		return n
	}
	return min(n, r.most()-max(r.least(r.canary.MaxWeight-weight), min(1, r.replicas())))
}
