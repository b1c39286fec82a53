package basic

import (
	"fmt"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Run has the pods be the traffic: both versions answer behind one Service, and the share of the pods is the share of the
// requests.
func (b *Canary) Run(c spec.Canary) {
	b.update.Is.Canary.Weights, b.update.Is.Canary.StablePingPong = nil, ""
	b.draft.CheckServices()
	if len(b.update.Problems) == 0 {
		b.pointBasic(c)
		b.draft.GiveBack()
	}
	b.scaleCanary(c)
}

func (b *Canary) scaleCanary(c spec.Canary) {
	if why := b.draft.MayNotScale(); why != "" {
		b.journal.Note(change.TopicWait, "nothing is scaled and no step ends", why)
		if b.draft.Create != nil {
			b.draft.ScaleNew(0, why)
		}
		return
	}
	var (
		l           = capacity.Limits{Replicas: b.world.Spec.Replicas, MaxSurge: c.MaxSurge, MaxUnavailable: c.MaxUnavailable}
		ideal, why  = b.ideal(c)
		stable      = b.world.StableBeside()
		next        = capacity.BasicCounts(l, ideal, b.world.New.Fleet(), stable.Fleet(), b.world.OtherFleets())
		stillServes = b.world.New.Fleet().Serving() + stable.Fleet().Serving()
	)
	b.draft.ScaleNew(b.keptForService(c, b.world.New, next.Canary), why)
	if stable != nil {
		b.draft.Scale(stable, b.keptForService(c, stable, next.Stable), fmt.Sprintf("%s, which leaves %d", why, ideal.Stable))
	}
	for _, o := range b.world.OtherFleets() {
		stillServes += o.Serving()
	}
	for i, n := range capacity.OldCounts(l, stillServes, b.world.OtherFleets()) {
		b.draft.Scale(&b.world.Others[i], b.keptForService(c, &b.world.Others[i], n), "neither the new nor the stable version")
	}
}

// ideal is how many pods each version should end up with at the current step, and why.
func (b *Canary) ideal(c spec.Canary) (capacity.Counts, string) {
	if b.world.StableBeside() == nil {
		return b.restart.CountsWithSurge(capacity.Counts{Canary: b.world.Spec.Replicas}), fmt.Sprintf("the only version takes all %d", b.world.Spec.Replicas)
	}
	weight := b.update.Weight(c)
	ideal := capacity.IdealCounts(b.world.Spec.Replicas, weight, c.MaxWeight, c.MaxSurge)
	return b.countsForServices(c, b.restart.CountsWithSurge(ideal)), fmt.Sprintf("%s of %d is %d", capacity.PortionText(weight, c.MaxWeight), b.world.Spec.Replicas, ideal.Canary)
}

// Reached reports whether the pods are as the current step wants them, or else what is missing.
func (b *Canary) Reached(c spec.Canary) (bool, string) {
	ideal, _ := b.ideal(c)
	canary := b.world.New.Fleet()
	if !c.Threshold.Met(canary.Available, ideal.Canary) {
		return false, fmt.Sprintf("%d of %d canary pods available", canary.Available, ideal.Canary)
	}
	if canary.Desired != ideal.Canary || canary.Available > ideal.Canary {
		return false, fmt.Sprintf("the canary is on its way from %d to %d pods", canary.Actual, ideal.Canary)
	}
	if stable := b.world.StableBeside().Fleet(); b.world.StableBeside() != nil && (stable.Desired != ideal.Stable || stable.Actual != ideal.Stable) {
		return false, fmt.Sprintf("the stable version is on its way from %d to %d pods", stable.Actual, ideal.Stable)
	}
	for i := range b.world.Others {
		if n := b.world.Others[i].Status.AvailableReplicas; n > 0 {
			return false, fmt.Sprintf("%s still has %s", b.world.Others[i].Name, capacity.Pods(n))
		}
	}
	return true, ""
}

// WithoutNew has the Services select versions that there are while the new one cannot be created, and gives the stable one its pods.
func (b *Canary) WithoutNew(c spec.Canary) {
	if len(b.update.Problems) == 0 {
		b.draft.PointAvailable(c.StableService.Name, b.world.Stable, "it is the stable version")
		b.draft.PointBack(c.CanaryService.Name)
	}
	if b.world.Stable != nil && b.draft.MayNotScale() == "" {
		l := capacity.Limits{Replicas: b.world.Spec.Replicas, MaxSurge: c.MaxSurge, MaxUnavailable: c.MaxUnavailable}
		b.draft.Scale(b.world.Stable, capacity.BasicCounts(l, capacity.Counts{Stable: b.world.Spec.Replicas}, capacity.Fleet{}, b.world.Stable.Fleet(), b.world.OtherFleets()).Stable, draft.WithoutNew)
	}
}
