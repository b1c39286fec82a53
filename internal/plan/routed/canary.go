package routed

import (
	"fmt"
	"reflect"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// Run moves traffic by weights, and lets pods follow: what is to get traffic has its pods first, and what loses traffic
// loses it before its pods.
//
// Up to four versions may play a part: the new one, the stable one, the one that the canary Service still selects when an update
// overtakes another (the carrier), and the last stable one until the stable Service has left it.
func (r *Canary) Run() {
	r.draft.CheckServices()
	r.split.see()
	r.overtake()
	r.succeed()
	if why := r.draft.MayNotScale(); why == "" {
		r.size()
	} else {
		r.journal.Note(change.TopicWait, "nothing is scaled and no step ends", why)
		if r.draft.Create != nil {
			r.draft.ScaleNew(0, why)
		}
	}
	if len(r.update.Problems) > 0 { // until the Services are mended the traffic stays where it is
		r.split.next = r.split.of(r.split.now)
		_, others := r.split.render(r.split.next) // which are told now, and not when these are mended
		r.update.Complain(others)
		return
	}
	r.pointServices()
	weight, why := r.weigh()
	r.split.route(weight, why, r.whyGoal())
	r.draft.GiveBack(r.split.routers...)
	if r.draft.MayNotScale() == "" {
		r.retire()
	}
}

// overtake notes on a version that an update overtakes that it was never promoted: should it come back when the strategy is blue-green, it
// is not one that has served before.
func (r *Canary) overtake() {
	last := r.world.Find(r.update.Was.CurrentPodHash)
	if r.update.Begun && last.Desired() > 0 && last != r.world.New && last != r.target.stable() {
		world.SetKey(&r.draft.Edit(last).Annotations, v1alpha1.OvertakenAnnotation, "true")
	}
}

// succeed has the new version play the stable one's part where that is gone, and a version that was overtaken carries what it carried. The
// traffic comes to the new one by weight then, as the two make room for each other: the canary Service could only move all of it at once, to
// pods that there is no room for.
func (r *Canary) succeed() {
	if c := r.split.carrier(); r.EnforceMaxSurge && r.target.alone() && r.update.State() != progress.Aborted && c != nil && c != r.world.New {
		r.target.succeeds = true
	}
}

// goal is the weight that the canary should come to at the current step.
func (r *Canary) goal() int32 {
	switch {
	case r.update.State() == progress.Settled:
		return 0
	case r.draft.Selects(r.split.canaryService.Name) != r.update.Is.CurrentPodHash: // it carries another version, or all of them
		return 0
	case r.target.takesOver():
		return r.split.now
	}
	return r.update.Weight(r.canary)
}

// weigh returns the weight to set in this pass, and why it is that.
func (r *Canary) weigh() (weight int32, why string) {
	if weight, why, given := r.givenWeight(); given {
		return weight, why
	}
	want, why := r.wantedWeight()
	stable := r.target.stable()
	if name := r.split.stableService.Name; stable == nil || r.draft.Selects(name) != stable.Hash || r.world.ObservedSelects(name) != stable.Hash {
		return r.split.now, "the stable service does not send to the stable version yet"
	}
	size := r.target.aim()
	if want > 0 && size == 0 && r.split.carrier() == r.world.New && r.target.replicas() > 0 { // the step takes its pods away
		want, why = 0, "the step takes all its pods away"
	}
	return r.moveWeight(want, size, why)
}

// givenWeight is the weight where the Services leave only one that makes sense.
func (r *Canary) givenWeight() (weight int32, why string, given bool) {
	alone, carries := r.target.alone(), r.split.carrier() == r.world.New
	switch {
	case alone && carries && r.world.New.Fleet().Available == 0 && r.target.replicas() > 0:
		return r.split.now, "it has no available pod", true
	case alone && carries:
		return r.canary.MaxWeight, "the stable version is gone", true
	case r.target.stableBeside() == nil && carries || r.split.stableService.Name == "":
		weight, why = r.settle()
		return weight, why, true
	case r.EnforceMaxSurge && r.bothSendElsewhere():
		return r.canary.MaxWeight, "both services send to it, and the stable one has to be free for the stable version", true
	case r.split.now > 0 && r.bothSendToStable():
		return 0, "both services send to the stable version, whatever the weight", true
	}
	return 0, "", false
}

// wantedWeight is the weight to come to: the step's, but none for pods that are not there.
func (r *Canary) wantedWeight() (want int32, why string) {
	if want := r.goal(); want == 0 || r.split.carrier().Fleet().Available > 0 || r.target.replicas() == 0 {
		return want, r.whyGoal()
	}
	return 0, "it has no available pod"
}

// moveWeight goes towards a weight as far as pods can carry what comes to them.
func (r *Canary) moveWeight(want, size int32, why string) (int32, string) {
	carrier := r.split.carrier()
	m := capacity.Move{
		Now: r.split.now, Want: want, Max: r.canary.MaxWeight,
		Replicas: r.target.replicas(), Tolerated: r.canary.MaxUnavailable,
		Canary: carrier.Fleet().Serving(), Stable: r.target.stable().Certain(),
		Ready:   carrier != nil && !carrier.Stale() && r.canary.Threshold.Met(carrier.Fleet().Serving(), size),
		Gradual: r.gradual(),
	}
	next, wanted := m.Next(), r.target.portionText(want)
	r.draft.Held = want < m.Now && r.target.stable().Stale() || r.misleads(next, want)
	switch {
	case next == want && want == m.Now:
		return next, wanted + " as it should be"
	case next == want:
		return next, why
	case want > m.Now:
		r.journal.Note(change.TopicWait, wanted+" to the canary", fmt.Sprintf("%d of %d pods available", m.Canary, size))
		return next, "its available pods can carry that"
	}
	r.journal.Note(change.TopicWait, wanted+" to the canary", fmt.Sprintf("%d of %d pods of the stable version available",
		m.Stable, capacity.Share(m.Max-want, m.Replicas, m.Max)))
	return next, "the stable version cannot carry more yet"
}

// bothSendElsewhere reports whether both Services send to one version that is not the stable one: somebody has pointed the stable Service there, or
// the strategy before this one. The version keeps all its pods for that, and leaves the stable one no room to have as many before the Service
// comes back to it.
func (r *Canary) bothSendElsewhere() bool {
	c, name := r.split.carrier(), r.split.stableService.Name
	return c != nil && r.target.stable() != nil && c != r.target.stable() && r.draft.Selects(name) == c.Hash && r.world.ObservedSelects(name) == c.Hash && r.world.ObservedSelects(r.split.canaryService.Name) == c.Hash
}

// bothSendToStable reports whether both Services are known to send to the stable version, somebody having pointed the canary one there, and it has a
// pod. It carries everything then, and a weight changes nothing: the canary Service is freed at once, and not when the stable version has
// the pods for that, which may find no room beside those of the new one.
func (r *Canary) bothSendToStable() bool {
	if r.split.carrier() == nil || r.split.carrier() != r.target.stable() || r.target.stable().Certain() == 0 {
		return false
	}
	for _, name := range world.ServiceNames(r.canary) {
		if r.draft.Selects(name) != r.target.stable().Hash || r.world.ObservedSelects(name) != r.target.stable().Hash {
			return false
		}
	}
	if !r.world.ServicesLive { // a cache may not have what an earlier pass pointed
		r.journal.Need(change.NeedLiveServices{})
	}
	return r.world.ServicesLive
}

// misleads reports whether to bring the routers in line could send traffic to where nobody can carry it. Routers that do not show what the
// status has may be further than that, or not as far: a pass told some of them and could not record it.
func (r *Canary) misleads(weight, want int32) bool {
	canary, stable := r.split.carrier().Fleet().Serving()+r.carriedElsewhere(), r.target.stable().Certain()
	switch {
	case r.split.inForce, r.target.replicas() == 0:
		return false
	case canary == 0:
		return stable == 0
	case weight == want && want > r.split.now: // it is ready for that
		return false
	}
	return stable < r.target.room().Enough(r.canary.MaxWeight-weight)
}

// carriedElsewhere is how many pods serve behind the Services that the spec does not name any more, which routes may send to still: the canary
// Service has got another name, and that one sends to nobody yet. Where the number of pods is limited nobody waits for the stable version to
// have enough for these: it may find no room beside them.
func (r *Canary) carriedElsewhere() int32 {
	if r.split.carrier() != nil || r.EnforceMaxSurge {
		return 0
	}
	var serving int32
	for _, s := range r.world.UnnamedServices() {
		if v := r.world.Find(r.draft.Selects(s.Name)); v != nil && v != r.target.stable() {
			serving = max(serving, v.Fleet().Serving())
		}
	}
	return serving
}

// settle is the weight once both Services send to one version: none for the canary, whatever was there before.
func (r *Canary) settle() (int32, string) {
	if r.split.now > 0 && r.world.ObservedSelects(r.split.stableService.Name) != r.update.Is.StableRS {
		return r.split.now, "the stable service does not send to the stable version yet"
	}
	return 0, "there is one version only"
}

func (r *Canary) whyGoal() string {
	switch state := r.update.State(); {
	case state == progress.Aborted:
		return "the update was aborted"
	case state == progress.Settled:
		return "the stable version is the current one"
	case r.split.carrier() != r.world.New:
		return "another version has overtaken it"
	case state == progress.PromotedInFull:
		return "a full promotion was requested"
	case r.update.At() == r.world.StepCount():
		return "all steps are done"
	}
	return fmt.Sprintf("step %d of %d", r.update.At()+1, r.world.StepCount())
}

// gradual reports whether traffic may follow the pods one by one, instead of waiting for all that a step asks for.
func (r *Canary) gradual() bool {
	return r.EnforceMaxSurge || r.update.State() == progress.PromotedInFull || r.update.FastRollback()
}

// Carries reports whether everything goes to the new version, so that it can be promoted, or else what is missing.
func (r *Canary) Carries() (bool, string) {
	if r.target.takesOver() {
		return true, ""
	}
	return r.Weighs(r.canary.MaxWeight)
}

// Wanted is how many pods the new version needs available to be promoted: all, or as many of them as there is room for beside the stable
// version's. The others come when those are gone.
func (r *Canary) Wanted() int32 {
	if r.target.stableBeside() == nil {
		return r.target.replicas()
	}
	return min(r.target.replicas(), r.target.aim())
}

// Weighs reports whether every router sends this weight to the new version by the end of this pass, or else what is missing.
func (r *Canary) Weighs(weight int32) (bool, string) {
	w := r.update.Is.Canary.Weights
	if r.target.alone() {
		weight = r.canary.MaxWeight
	}
	switch {
	case len(r.update.Problems) > 0:
		return false, "the traffic cannot be moved: " + r.update.Problems[0].String()
	case weight > 0 && r.draft.Selects(r.split.canaryService.Name) != r.update.Is.CurrentPodHash: // nothing is carried by any version
		return false, "the canary service does not send to the new version yet"
	case w == nil || w.Canary.ServiceName != r.split.canaryService.Name || w.Canary.Weight != weight:
		return false, fmt.Sprintf("the canary gets %s of the traffic, not %s yet", r.target.portionText(r.split.next.Canary.Weight), r.target.portionText(weight))
	}
	return true, ""
}

// Sends reports whether the managed routes are as the steps so far have it by the end of this pass, or else what is missing. Routes to a
// version without pods come with its first pod; there is nothing to wait for.
func (r *Canary) Sends() (bool, string) {
	if len(r.update.Problems) > 0 {
		return false, "the route cannot be set: " + r.update.Problems[0].String()
	}
	if r.target.aim() > 0 && !r.split.canServe() {
		return false, "no pod of the new version is available"
	}
	if !reflect.DeepEqual(r.split.routes(), r.split.next.Routes) { // a step before this one has ended in this very pass
		return false, "the route is set next"
	}
	return true, ""
}

// Reached reports whether the pods are as the current step wants them, or else what is missing.
func (r *Canary) Reached() (bool, string) {
	want := r.target.aim()
	want = max(want, capacity.RoomFor(r.world.New.Desired(), r.restart.WithSurge(r.world.New, want), r.target.free()))
	canary := r.world.New.Fleet()
	if !r.canary.Threshold.Met(canary.Available, want) {
		return false, fmt.Sprintf("%d of %d canary pods available", canary.Available, want)
	}
	if canary.Desired != want || canary.Available > want {
		return false, fmt.Sprintf("the canary is on its way from %d to %d pods", canary.Actual, want)
	}
	if stable := r.target.stableBeside(); stable != nil && !r.DynamicStableScale {
		if s := stable.Fleet(); s.Desired != s.Actual || s.Desired < r.target.replicas() {
			return false, fmt.Sprintf("the stable version is on its way from %d to %d pods", s.Actual, r.target.replicas())
		}
	}
	return true, ""
}
