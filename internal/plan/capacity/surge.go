package capacity

import (
	"github.com/sluice-delivery/sluice/internal/spec"
)

// SurgeBudget is how many pods the two sides of a routed canary may have.
//
// When their total is limited, the sides take turns: the side that must lose traffic gives up pods, the side that gains it gets as many, then
// some of the traffic follows, and so on. One rule says for both sides how many pods a weight needs at least. A side that has more than that
// gives them up while the other one has no room. This always leaves the other side room for at least one more unit of weight, so the
// turns end.
type SurgeBudget struct {
	// replicas is how many pods carry all traffic, max the weight of all traffic, and tolerated how many of the pods may be missing.
	replicas, max, tolerated int32
	// minPods is the least that a side is to have that has any.
	minPods int32
	// most is how many pods there may be, noLimit where nobody cares.
	Most int32
}

const noLimit = 1 << 30

// BudgetOf is what the spec allows both sides. A single pod gets a second all the same: the other way to replace it would be to have none for
// a while.
func BudgetOf(replicas int32, c spec.Canary) SurgeBudget {
	limit, least := int32(noLimit), c.Traffic.MinPods
	if c.Traffic.EnforceMaxSurge { // the limit comes first: what is added to one version must leave room for the other
		limit = max(replicas+c.MaxSurge, 2*min(replicas, 1))
		least = min(least, max(1, c.MaxSurge))
	}
	return SurgeBudget{replicas: replicas, max: c.MaxWeight, tolerated: c.MaxUnavailable, minPods: least, Most: limit}
}

// Sized is how many pods carry a weight: whole ones.
func (o SurgeBudget) Sized(weight int32) int32 { return o.AtLeast(Share(weight, o.replicas, o.max)) }

// AtLeast raises a number of pods to the least that the spec wants a side to have that has any.
func (o SurgeBudget) AtLeast(n int32) int32 {
	if n == 0 {
		return 0
	}
	return max(n, o.minPods)
}

// least is how many pods a weight can do with while the other side has no room: some may be missing then, and none is had for less than one
// unit of the weight. Weights are whole numbers, so both sides may need to be rounded up, and where there is room for one pod more than
// carry all the traffic none of them could ever grow.
func (o SurgeBudget) least(weight int32) int32 {
	if weight == 0 || o.replicas == 0 {
		return 0
	}
	n := int32(int64(weight-1)*int64(o.replicas)/int64(o.max)) + 1
	return o.AtLeast(max(1, n-o.tolerated))
}

// Enough is how many pods a weight may be sent to: one at the least, however many may be missing.
func (o SurgeBudget) Enough(weight int32) int32 {
	n := Share(weight, o.replicas, o.max)
	if o.Most < noLimit {
		return min(n, o.least(weight))
	}
	return max(min(1, n), n-o.tolerated)
}

// Keeps is how many pods a side keeps for a weight: it gives up no more than the other side, which has `other` pods, lacks to have `wanted`.
func (o SurgeBudget) Keeps(weight, other, wanted int32) int32 {
	n := o.Sized(weight)
	if other < wanted && n+other >= o.Most {
		return min(n, max(o.least(weight), o.Most-wanted))
	}
	return n
}

// Beside is as many of n pods as there is ever room for beside a side with a weight, which keeps one while a Service sends to it.
func (o SurgeBudget) Beside(weight, n int32) int32 {
	return min(n, o.Most-max(o.least(weight), min(1, o.replicas)))
}

// FitSurge is the part of a scale-up that fits when `free` pods may be added.
func FitSurge(desired, to, free int32) int32 {
	return min(to, desired+min(free, noLimit-desired))
}
