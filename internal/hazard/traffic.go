package hazard

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

const canaryField = "spec.strategy.canary"

func (f *finder) canary(c *v1alpha1.CanaryStrategy) {
	f.unavailable(canaryField+".maxUnavailable", c.MaxUnavailable)
	f.neverStarts(c)
	f.ineffective(c)
	if c.TrafficRouting == nil {
		f.withoutRouter(c)
		f.coarseWeights(c.Steps)
		return
	}
	f.overload(c)
	f.emptied(c)
	f.delays(canaryField, c.ScaleDownDelaySeconds, c.AbortScaleDownDelaySeconds)
}

// withoutRouter finds delays that have no effect: without a router, old pods are deleted as new ones become available.
func (f *finder) withoutRouter(c *v1alpha1.CanaryStrategy) {
	for _, field := range []struct {
		name  string
		value *int32
	}{
		{"abortScaleDownDelaySeconds", c.AbortScaleDownDelaySeconds}, {"scaleDownDelayRevisionLimit", c.ScaleDownDelayRevisionLimit},
	} {
		if field.value != nil {
			f.add(NoEffect, canaryField+"."+field.name, "has no effect without trafficRouting, because old pods are deleted as new ones become available: remove it, or add a router")
		}
	}
}

// unavailable finds a limit that lets all pods be unavailable at once.
func (f *finder) unavailable(field string, limit *intstr.IntOrString) {
	if limit == nil || f.replicas == 0 {
		return
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(limit, int(f.replicas), false)
	if err == nil && n >= int(f.replicas) {
		f.add(AllUnavailable, field, "with %s of %d pods, all of them may be unavailable at the same time during an update or a restart: allow fewer",
			limit.String(), f.replicas)
	}
}

// overloaded is the ratio of the share of the traffic to the share of the pods from which on a step is reported: half as
// much again as the pods would carry if all pods were alike. Less than that comes from rounding.
const overloaded = 1.5

// overload finds the step at which the canary's share of the traffic exceeds its share of the pods most, if that is too
// much. A setCanaryScale stays in effect when the weight changes afterwards, which is easily forgotten.
func (f *finder) overload(c *v1alpha1.CanaryStrategy) {
	var (
		most  = mostOf(c)
		walk  = canaryWalk{replicas: f.replicas}
		worst = -1
		at    load
		do    string
	)
	for i := range c.Steps {
		before := walk.weight
		if !walk.step(&c.Steps[i]) || walk.fixed == nil || f.replicas == 0 {
			continue
		}
		l := load{weight: walk.weight, most: most, pods: *walk.fixed, replicas: f.replicas}
		if l.times() >= overloaded && (worst < 0 || l.times() > at.times()) {
			worst, at, do = i, l, l.relief(c.Steps[i].SetWeight != nil, before)
		}
	}
	if worst >= 0 {
		f.add(CanaryOverload, fmt.Sprintf("%s.steps[%d]", canaryField, worst),
			"%s; setCanaryScale stays in effect for later setWeight steps: set more pods, %s", at, do)
	}
}

// mostOf is the weight that means all of the traffic.
func mostOf(c *v1alpha1.CanaryStrategy) int32 {
	if m := c.TrafficRouting.MaxTrafficWeight; m != nil && *m > 0 {
		return *m
	}
	return v1alpha1.DefaultMaxTrafficWeight
}

// canaryWalk goes through the steps and keeps track of what is in effect.
type canaryWalk struct {
	replicas int32
	weight   int32
	// fixed is the number of canary pods that setCanaryScale sets, nil while they follow the weight.
	fixed *int32
}

// step takes one step, and reports whether it changed weight or scale.
func (w *canaryWalk) step(s *v1alpha1.CanaryStep) bool {
	switch scale := s.SetCanaryScale; {
	case s.SetWeight != nil:
		w.weight = *s.SetWeight
	case scale == nil:
		return false
	case scale.Replicas != nil:
		w.fixed = scale.Replicas
	case scale.Weight != nil:
		pods := int32((int64(*scale.Weight)*int64(w.replicas) + 99) / 100)
		w.fixed = &pods
	default:
		w.fixed = nil
	}
	return true
}

// load is what the canary's pods carry.
type load struct{ weight, most, pods, replicas int32 }

// times is the canary's share of the traffic as a multiple of its share of the pods.
func (l load) times() float64 {
	carried := float64(l.weight) * float64(l.replicas)
	if l.pods <= 0 {
		return carried // no pod at all: worse than any number of pods, unless nothing is sent
	}
	return carried / (float64(l.pods) * float64(l.most))
}

// relief is what to write for more pods. Pods that follow the weight are 0 as long as the weight is 0, so in that case it is
// their share.
func (l load) relief(byWeight bool, before int32) string {
	switch {
	case !byWeight:
		return `or write "setCanaryScale: {matchTrafficWeight: true}" in its place`
	case before == 0:
		return fmt.Sprintf(`such as "setCanaryScale: {weight: %d}" before`, l.share())
	}
	return `or write "setCanaryScale: {matchTrafficWeight: true}" before`
}

// share is the traffic in percent, which pods that are to carry it should be of all pods.
func (l load) share() int32 {
	return int32(math.Ceil(100 * float64(l.weight) / float64(l.most)))
}

func (l load) String() string {
	traffic := percent(l.weight, l.most)
	if l.pods <= 0 {
		return fmt.Sprintf("%s of the traffic would go to a canary without pods", traffic)
	}
	return fmt.Sprintf("%s of the traffic goes to %s (%s of spec.replicas), so each of them gets %.1f times the traffic that a pod normally gets",
		traffic, pods(l.pods), percent(l.pods, l.replicas), l.times())
}

func percent(part, whole int32) string {
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}

func pods(n int32) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// coarse is by how many percentage points the share of the pods may differ from the weight before it is reported.
const coarse = 10

// coarseWeights finds the weight that the pods match least, if the difference is too large: without a router, the share of
// the pods is the weight.
func (f *finder) coarseWeights(steps []v1alpha1.CanaryStep) {
	worst, off, got := -1, float64(coarse), float64(0)
	for i := range steps {
		weight := steps[i].SetWeight
		if weight == nil || *weight <= 0 || *weight >= 100 || f.replicas == 0 {
			continue
		}
		// At least one pod on each side, and temporarily one additional pod for that.
		canary := max(1, int32((int64(*weight)*int64(f.replicas)+50)/100))
		share := 100 * float64(canary) / float64(max(f.replicas, canary+1))
		if d := max(share-float64(*weight), float64(*weight)-share); d > off {
			worst, off, got = i, d, share
		}
	}
	if worst >= 0 {
		f.add(CoarseWeight, fmt.Sprintf("%s.steps[%d].setWeight", canaryField, worst),
			"%d %% of %s is not possible without trafficRouting: the canary gets about %.0f %% of the traffic; use more replicas, or a router",
			*steps[worst].SetWeight, pods(f.replicas), got)
	}
}
