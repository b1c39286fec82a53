package plan

// move is a change of a canary's weight that is wanted, and what the pods of both sides can carry.
type move struct {
	// now is the weight in force, want the one to come to; max means all traffic.
	now, want, max int32
	// replicas is how many pods all traffic needs, and tolerated how many of them may be missing.
	replicas, tolerated int32
	// canary and stable are the available pods of the two sides.
	canary, stable int32
	// ready: the canary has the pods that want asks for.
	ready bool
	// gradual: traffic may move as pods come, a part at a time.
	gradual bool
}

// next is the weight to set now. Traffic moves only towards pods that can carry it: what they cannot yet stays where it is, except
// that a side without any available pod gives all it has to one that has some.
//
// The canary's weight rises when the canary is ready for the whole of it, or with gradual, by its share of the pods. It falls by as much as the
// stable version's available pods can carry, at once if no more than the tolerated number is missing. So an abort never waits for
// the last pod of a stable version, nor a good canary for a broken one.
func (m move) next() int32 {
	switch {
	case m.replicas == 0:
		return m.want // nobody is there on either side, and nobody is wanted
	case m.want > m.now:
		return m.rise()
	case m.want < m.now:
		return m.fall()
	}
	return m.now
}

func (m move) rise() int32 {
	switch {
	case m.ready:
		return m.want
	case m.gradual:
		return min(max(portion(m.max, m.canary, m.replicas), m.now), m.want)
	}
	return m.now
}

func (m move) fall() int32 {
	switch {
	case m.stable == 0:
		return m.now // wherever the traffic is, it is better off
	case m.canary == 0, m.stable >= share(m.max-m.want, m.replicas, m.max)-m.tolerated:
		return m.want
	}
	return min(max(m.max-portion(m.max, m.stable, m.replicas), m.want), m.now)
}

// share is how many of n pods carry a weight: whole pods, rounded up.
func share(weight, n, maxWeight int32) int32 {
	return int32((int64(weight)*int64(n) + int64(maxWeight) - 1) / int64(maxWeight))
}

// portion is the weight that a of n pods can carry.
func portion(maxWeight, a, n int32) int32 {
	return int32(min(int64(maxWeight)*int64(a)/int64(n), int64(maxWeight)))
}
