package play

import (
	"fmt"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// What a HorizontalPodAutoscaler does where its behavior says nothing else: it looks every 15 seconds, adds as many pods as there are, or
// four, at a time, and takes pods away when the load has been lower for five minutes.
const (
	autoscalerPeriod = 15 * time.Second
	autoscalerStep   = 4
	autoscalerCalm   = 5 * time.Minute
)

// autoscaler is the one of the Rollout: it gives it the pods that the load asks for, within its limits.
type autoscaler struct {
	// load is how many pods would be at their target, and loaded whether the scenario has said so.
	load   int32
	loaded bool
	// at is when it changes the size next, zero for never: nothing is left to do.
	at time.Duration
}

// setLoad takes up what the scenario says.
func (p *player) setLoad(load int32) {
	a := &p.autoscaler
	a.load, a.loaded = load, true
	now, calm := p.since(), autoscalerCalm
	if b := p.Autoscaler.Spec.Behavior; b != nil {
		if !isPlayed(b) {
			p.warn("the autoscaler's behavior is played as if only its stabilization window for fewer pods were set")
		}
		if b.ScaleDown != nil && b.ScaleDown.StabilizationWindowSeconds != nil {
			calm = time.Duration(*b.ScaleDown.StabilizationWindowSeconds) * time.Second
		}
	}
	tick := now.Truncate(autoscalerPeriod) + autoscalerPeriod
	switch wanted, have := p.wantedSize(), *p.world.Rollout().Spec.Replicas; {
	case wanted > have:
		a.at = tick
	case wanted < have:
		a.at = (now + calm).Truncate(autoscalerPeriod) + autoscalerPeriod
	default:
		a.at = 0
	}
}

// isPlayed reports whether a behavior is what is played: besides the window for fewer pods it may have the rules that the API server writes
// where there are none.
func isPlayed(b *autoscalingv2.HorizontalPodAutoscalerBehavior) bool {
	const period = int32(autoscalerPeriod / time.Second)
	all := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: period}
	four := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: autoscalerStep, PeriodSeconds: period}
	up := b.ScaleUp
	atOnce := up == nil || up.StabilizationWindowSeconds == nil || *up.StabilizationWindowSeconds == 0
	return atOnce && isDefault(up, all, four) && isDefault(b.ScaleDown, all)
}

// isDefault reports whether rules, but for their window, are those that there are without any.
func isDefault(rules *autoscalingv2.HPAScalingRules, defaults ...autoscalingv2.HPAScalingPolicy) bool {
	switch {
	case rules == nil:
		return true
	case rules.SelectPolicy != nil && *rules.SelectPolicy != autoscalingv2.MaxChangePolicySelect, rules.Tolerance != nil:
		return false
	case len(rules.Policies) == 0:
		return true
	}
	return len(rules.Policies) == len(defaults) && !slices.ContainsFunc(rules.Policies, func(p autoscalingv2.HPAScalingPolicy) bool {
		return !slices.Contains(defaults, p)
	})
}

// wantedSize is what the load asks for, within the limits.
func (p *player) wantedSize() int32 {
	least := int32(1)
	if n := p.Autoscaler.Spec.MinReplicas; n != nil {
		least = *n
	}
	return max(least, min(p.autoscaler.load, p.Autoscaler.Spec.MaxReplicas))
}

// autoscale changes the size once.
func (p *player) autoscale() {
	a := &p.autoscaler
	wanted, have := p.wantedSize(), *p.world.Rollout().Spec.Replicas
	next := wanted
	if wanted > have {
		next = min(wanted, max(2*have, have+autoscalerStep))
	}
	a.at = 0
	if next < wanted {
		a.at = p.since() + autoscalerPeriod
	}
	if next == have {
		return
	}
	p.tell(fmt.Sprintf("the autoscaler scales from %d to %d", have, next))
	p.world.Scale(next)
	p.watch()
}
