package play

import (
	"fmt"
	"time"
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
		for _, rules := range []any{b.ScaleUp, b.ScaleDown} {
			if rules != nil {
				p.warn("the autoscaler's behavior is played as if only its stabilization window for fewer pods were set")
				break
			}
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
