package routed

import (
	"fmt"
	"slices"

	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/target"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// Target is what the current step wants of pods and Services. Up to four versions take part: the new one, the stable one, the one that the
// canary Service still selects when one update supersedes another, and the previous stable one until the stable Service has left it.
func (t *Want) Target() target.Target {
	return target.Target{Sizes: t.sizes(), Services: t.services()}
}

func (t *Want) sizes() []target.Size {
	var sizes []target.Size
	stable := t.StableBeside()
	switch {
	case t.Abandoned():
		if t.world.New == nil {
			sizes = append(sizes, target.Size{Why: "the update was aborted"})
		}
		return sizes
	case stable == nil:
		why := "the only version takes all"
		if t.world.New != nil {
			why += fmt.Sprintf(" %d", t.Replicas())
		}
		sizes = append(sizes, target.Size{Version: t.world.New, Pods: t.Replicas(), Why: why})
	default:
		sizes = append(sizes, t.stableSize(stable))
		sizes = append(sizes, t.newSize()...)
	}
	for i := range t.world.Others {
		v := &t.world.Others[i]
		one := target.Size{Version: v, Pods: v.Desired(), Why: "another version has no room next to it"}
		if t.Gives(v) {
			gains := "stable"
			if v == t.Leftover() {
				gains = "new"
			}
			one.Pods, one.Why = min(1, v.Desired()), "its traffic goes to the "+gains+" version"
		}
		sizes = append(sizes, one)
	}
	return sizes
}

// stableSize is all pods for the stable version, or with dynamicStableScale as many as its share of the traffic needs, and one at least while its
// Service sends to it, since proxies answer with errors for a Service without endpoints.
func (t *Want) stableSize(stable *world.Version) target.Size {
	if !t.canary.Traffic.DynamicStableScale {
		return target.Size{Version: stable, Pods: t.Replicas(), Why: "the stable version keeps all its pods"}
	}
	weight := t.canary.MaxWeight - t.Goal()
	return target.Size{Version: stable, Pods: max(t.Budget().Sized(weight), min(1, t.Replicas()))}
}

// newSize is how many pods the new version should have at the current step. Aborted it keeps them until its time is up, but for what the stable one
// needs room for.
func (t *Want) newSize() []target.Size {
	v := t.world.New
	if t.update.State() == progress.Aborted {
		var keeps int32
		if !t.canary.Traffic.DynamicStableScale || t.canary.Traffic.AbortDelaySet {
			keeps = t.Budget().Most - t.Replicas()
		}
		if v != nil && v.Desired() <= keeps {
			return nil
		}
		return []target.Size{{Version: v, Pods: min(v.Desired(), keeps), Why: "the update was aborted, and its traffic goes back"}}
	}
	aim := t.Aim()
	_, why := t.CanarySize(t.update.Weight(t.canary))
	if n := t.inherited(); n > aim {
		aim, why = n, "it takes over what "+t.split.ServedCanary().Name+" carries"
	}
	return []target.Size{{Version: v, Pods: aim, Why: why}}
}

// Gives reports whether a version that is part of no update, and carries traffic, gives its pods up with that: where pods are scarce. The last one
// does not, where both Services send to it: it is all there is.
func (t *Want) Gives(v *world.Version) bool {
	switch v {
	case nil, t.Stable(), t.world.New:
		return false
	case t.split.ServedCanary():
		last := t.update.State() == progress.Settled && t.world.ObservedSelects(t.split.StableService.Name) == v.Hash
		return t.canary.Traffic.DynamicStableScale && !last
	case t.Leftover():
		return t.canary.Traffic.EnforceMaxSurge && t.split.Now < t.canary.MaxWeight
	}
	return false
}

// inherited is how many pods the new version gets to take the part over of one that it has superseded, where the stable version has
// no pod that could.
func (t *Want) inherited() int32 {
	if c := t.split.ServedCanary(); c == nil || c == t.world.New || !t.StableIsDown() {
		return 0
	}
	return capacity.Share(t.split.MayCarry(), t.Replicas(), t.canary.MaxWeight)
}

// StableIsDown reports whether the stable version has no available pod, though it should have.
func (t *Want) StableIsDown() bool {
	return t.Replicas() > 0 && t.Stable().Counts().Available == 0
}

// Abandoned reports whether an update was aborted but its stable version is gone, while another version still serves, by either Service or by
// one that the spec named before. That version keeps serving until a user retries or requests something else.
func (t *Want) Abandoned() bool {
	if t.update.State() != progress.Aborted || t.Stable() != nil {
		return false
	}
	return slices.ContainsFunc(t.world.WithUnnamed(t.split.StableService.Name, t.split.CanaryService.Name), func(name string) bool {
		v := t.world.Find(t.world.ObservedSelects(name))
		return v != t.world.New && v.Counts().Serving() > 0
	})
}

// services are the stable Service at the stable version, and the canary Service at the new one while there is an update, and at the stable one
// otherwise.
func (t *Want) services() []target.Selection {
	var services []target.Selection
	stable, why := t.Stable(), "it is the stable version"
	if t.canary.Traffic.EnforceMaxSurge && t.Alone() && t.split.InForce && t.split.Now == t.canary.MaxWeight && t.split.ServedCanary() == t.world.New {
		stable, why = t.world.New, "the stable version is gone" // nobody comes by the stable Service, and what it selects keeps room for nothing
	}
	if stable != nil {
		services = append(services, target.Selection{Service: t.split.StableService.Name, Version: stable, Why: why})
	}
	v, why := t.world.New, "it is the new version"
	if t.update.State() == progress.Settled || t.update.State() == progress.Aborted && !t.Alone() {
		v, why = t.Stable(), "there is no update"
	}
	if v != nil {
		services = append(services, target.Selection{Service: t.split.CanaryService.Name, Version: v, Why: why})
	}
	return services
}

// Idle are the versions of no use.
func (t *Want) Idle() []target.Idle {
	var idle []target.Idle
	traffic, services := t.canary.Traffic, t.world.WithUnnamed(t.split.StableService.Name, t.split.CanaryService.Name)
	aborted := t.update.State() == progress.Aborted && traffic.AbortScaleDown && t.world.New != nil
	if aborted && t.StableBeside().Counts().Serving() >= t.Replicas() && (!traffic.DynamicStableScale || traffic.AbortDelaySet) {
		idle = append(idle, target.Idle{
			Version: t.world.New, Delay: traffic.AbortScaleDownDelay, Aborted: true, Whole: t.world.New.Desired(), Why: "the update was aborted", Services: services,
		})
	}
	return append(idle, target.Replaced(t.world.Others, nil, traffic.ScaleDownDelayRevisionLimit, target.Idle{
		Delay: traffic.ScaleDownDelay, Why: "neither the new nor the stable version", Services: services,
	})...)
}

// Goal is the weight that the canary should come to at the current step.
func (t *Want) Goal() int32 {
	switch {
	case t.update.State() == progress.Settled:
		return 0
	case t.split.draft.Selects(t.split.CanaryService.Name) != t.update.Is.CurrentPodHash: // it carries another version, or all of them
		return 0
	case t.TakesOver():
		return t.split.Now
	}
	return t.update.Weight(t.canary)
}

// WhyGoal is why that weight.
func (t *Want) WhyGoal() string {
	switch state := t.update.State(); {
	case state == progress.Aborted:
		return "the update was aborted"
	case state == progress.Settled:
		return "the stable version is the current one"
	case t.split.ServedCanary() != t.world.New:
		return "another version has superseded it"
	case state == progress.PromotedInFull:
		return "a full promotion was requested"
	case t.update.At() == t.world.StepCount():
		return "all steps are done"
	}
	return fmt.Sprintf("step %d of %d", t.update.At()+1, t.world.StepCount())
}

// Gradual reports whether traffic may follow the pods one by one, instead of waiting for all that a step asks for.
func (t *Want) Gradual() bool {
	return t.canary.Traffic.EnforceMaxSurge || t.update.State() == progress.PromotedInFull || t.update.FastRollback()
}
