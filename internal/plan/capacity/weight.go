package capacity

// Move is a change of a canary's weight that is wanted, and what the pods of both sides can carry.
type Move struct {
	// now is the weight in force, want the one to come to; max means all traffic.
	Now, Want, Max int32
	// replicas is how many pods all traffic needs, and tolerated how many of them may be missing.
	Replicas, Tolerated int32
	// canary and stable are the available pods of the two sides.
	Canary, Stable int32
	// ready: the canary has the pods that want asks for.
	Ready bool
	// unseen: the routers do not show now. Less may be in force, and the canary gets no more of it than its pods can carry.
	Unseen bool
	// gradual: traffic may move as pods come, a part at a time.
	Gradual bool
}

// Next is the weight to set now. Traffic moves only towards pods that can carry it: what they cannot yet stays where it is, except
// that a side without any available pod gives all it has to one that has some.
//
// The canary's weight rises when the canary is ready for the whole of it, or with gradual, by its share of the pods. It falls by as much as the
// stable version's available pods can carry, at once if no more than the tolerated number is missing. So an abort never waits for
// the last pod of a stable version, nor a good canary for a broken one.
func (m Move) Next() int32 {
	if m.Unseen && m.Want >= m.Now && m.Replicas > 0 {
		m.Now = min(m.Now, portion(m.Max, m.Canary, m.Replicas))
	}
	switch {
	case m.Replicas == 0:
		return m.Want // nobody is there on either side, and nobody is wanted
	case m.Want > m.Now:
		return m.rise()
	}
	return m.fall() // which leaves a weight that is wanted already
}

func (m Move) rise() int32 {
	switch {
	case m.Ready:
		return m.Want
	case m.Gradual:
		return min(max(portion(m.Max, m.Canary, m.Replicas), m.Now), m.Want)
	}
	return m.Now
}

func (m Move) fall() int32 {
	switch {
	case m.Stable == 0:
		return m.Now // wherever the traffic is, it is better off
	case m.Canary == 0, m.Stable >= Share(m.Max-m.Want, m.Replicas, m.Max)-m.Tolerated:
		return m.Want
	}
	return min(max(m.Max-portion(m.Max, m.Stable, m.Replicas), m.Want), m.Now)
}

// Share is how many of n pods carry a weight: whole pods, rounded up.
func Share(weight, n, maxWeight int32) int32 {
	return int32((int64(weight)*int64(n) + int64(maxWeight) - 1) / int64(maxWeight))
}

// portion is the weight that a of n pods can carry.
func portion(maxWeight, a, n int32) int32 {
	return int32(min(int64(maxWeight)*int64(a)/int64(n), int64(maxWeight)))
}
