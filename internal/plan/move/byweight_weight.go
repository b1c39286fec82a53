package move

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

var weights = []rule[func(*ByWeight, *weight)]{
	{Weight, "hold for nobody", (*ByWeight).holdForNobody, ""},
	{Service, "follow the Services", (*ByWeight).followServices, ""},
	{Service, "await the stable Service", (*ByWeight).awaitStableService, ""},
	{Weight, "leave without pods", (*ByWeight).leaveWithoutPods, ""},
	{Weight, "carry", (*ByWeight).carry, ""},
	{Weight, "hold the routers", (*ByWeight).holdRouters, ""},
}

// weight is the weight of the canary on its way to the one that is wanted.
type weight struct {
	want, to int32
	why      string
	// final: no rule after this one has anything to add.
	final bool
}

func (w *weight) is(to int32, why string) { w.to, w.why, w.final = to, why, true }

// weigh is the weight to set in this pass.
func (r *ByWeight) weigh() weight {
	w := &weight{want: r.want.Goal(), to: r.want.Goal(), why: r.want.WhyGoal()}
	for _, rule := range kept(r.scene, weights) {
		if w.final {
			break
		}
		wanted := w.want
		rule.apply(r, w)
		if w.want != wanted || w.final && w.to != wanted {
			r.journal.Hold(rule.Promise, r.want.PortionText(wanted)+" to the canary", w.why)
		}
	}
	if r.draft.Held {
		r.journal.Hold(Weight, "the routers keep what they have", "until there are pods for it")
	}
	return *w
}

// holdForNobody leaves the routers as they are while neither Service sends to a pod, unless this is the first time that the routers are written: they
// may name a Service that does, as where the canary Service has another name now, and the stable version is gone. Between updates there is
// nothing to hold where no version has a pod that serves. A stable Service that tells no versions apart sends to whatever there is.
func (r *ByWeight) holdForNobody(*weight) {
	serves := func(v *world.Version) bool { return v.Counts().Serving() > 0 }
	r.draft.Held = r.update.Was.Canary.Weights != nil && !r.split.InForce && r.want.Replicas() > 0 &&
		r.want.Stable().ConfirmedAvailable() == 0 && !serves(r.split.ServedCanary()) && r.entry(r.split.StableService.Name) != (entry{}) &&
		(r.update.State() != progress.Settled || slices.ContainsFunc(r.world.All(), serves))
}

// followServices sets the weight where the Services leave only one that makes sense.
func (r *ByWeight) followServices(w *weight) {
	alone, carries := r.want.Alone(), r.split.ServedCanary() == r.world.New
	switch {
	case r.world.New == nil && r.want.Stable() == nil, alone && carries && r.world.New.Counts().Available == 0 && r.want.Replicas() > 0:
		w.is(r.split.Now, "it has no available pod")
	case alone && carries:
		w.want, w.to, w.why, w.final = r.canary.MaxWeight, r.canary.MaxWeight, "the stable version is gone", r.want.Leftover() == nil
	case r.want.Leftover() != nil:
		w.want, w.to, w.why = r.canary.MaxWeight, r.canary.MaxWeight, "the stable service still sends to "+r.want.Leftover().Name
	case r.want.StableBeside() == nil && carries || r.split.StableService.Name == "":
		r.settle(w)
	case r.EnforceMaxSurge && r.bothSendElsewhere():
		w.is(r.canary.MaxWeight, "both services select it, and the stable service must return to the stable version")
	case r.bothSendToStable():
		w.is(0, "both services send to the stable version, whatever the weight")
	}
}

// settle sends nothing to the canary where both Services send to one version, whatever it had before.
func (r *ByWeight) settle(w *weight) {
	if r.split.Now > 0 && r.entry(r.split.StableService.Name).before != r.update.Is.StableRS {
		w.is(r.split.Now, "the stable service does not send to the stable version yet")
		return
	}
	w.is(0, "there is one version only")
	r.holdForStable(w)
}

// awaitStableService leaves the weight as it is until the stable Service has been seen to send to the stable version.
func (r *ByWeight) awaitStableService(w *weight) {
	if r.want.Leftover() == nil && !r.entry(r.split.StableService.Name).only(r.want.Stable()) {
		w.is(r.split.Now, "the stable service does not send to the stable version yet")
		r.holdForStable(w)
	}
}

// holdForStable leaves the routers as they are where what the stable Service sends to cannot carry what the weight leaves to it.
func (r *ByWeight) holdForStable(w *weight) {
	hash := r.draft.Selects(r.split.StableService.Name)
	if hash != "" && !r.split.InForce && r.split.ServedCanary().Counts().Serving() > 0 {
		r.draft.Held = r.world.Find(hash).Counts().Serving() < r.want.Budget().Enough(r.canary.MaxWeight-w.to)
	}
}

// leaveWithoutPods sends nothing to pods that do not exist, or that the step removes.
func (r *ByWeight) leaveWithoutPods(w *weight) {
	carrier := r.split.ServedCanary()
	switch {
	case w.want == 0 || r.want.Replicas() == 0:
	case carrier.Counts().Available == 0:
		w.want, w.why = 0, "it has no available pod"
	case r.want.Aim() == 0 && carrier == r.world.New:
		w.want, w.why = 0, "the step takes all its pods away"
	}
}

// carry goes towards the weight as far as the pods of who gains by it can carry.
func (r *ByWeight) carry(w *weight) {
	carrier, size := r.split.ServedCanary(), r.want.Aim()
	m := capacity.Move{
		Now: r.split.Now, Want: w.want, Max: r.canary.MaxWeight,
		Replicas: r.want.Replicas(), Tolerated: r.canary.MaxUnavailable,
		Canary: carrier.Counts().Serving(), Stable: r.want.Stable().ConfirmedAvailable(),
		Ready:   !carrier.Unobserved() && r.canary.Threshold.Met(carrier.Counts().Serving(), size),
		Gradual: r.want.Gradual(), Unseen: !r.split.InForce,
	}
	wanted := r.want.PortionText(w.want)
	w.to = m.Next()
	switch {
	case w.to == w.want && w.want == m.Now:
		w.why = wanted + " as it should be"
	case w.to == w.want:
	case w.want >= m.Now:
		r.journal.Hold(Weight, wanted+" to the canary", fmt.Sprintf("%d of %d pods available", m.Canary, size))
		w.why = "its available pods can carry that"
	default:
		r.journal.Hold(Weight, wanted+" to the canary", fmt.Sprintf("%d of %d pods of the stable version available", m.Stable, capacity.Share(m.Max-w.want, m.Replicas, m.Max)))
		w.why = "the stable version cannot carry more yet"
	}
}

// holdRouters leaves the routers as they are where bringing them in line could send traffic to where nobody can carry it. Routers that do not show
// what the status has may be further than that, or not as far: a pass told some of them and could not record it.
func (r *ByWeight) holdRouters(w *weight) {
	stable := r.want.Stable()
	serving := r.split.ServedCanary().Counts().Serving() + r.carriedElsewhere()
	switch {
	case w.want < r.split.Now && stable.Unobserved():
		r.draft.Held = true
	case r.split.InForce, serving == 0, w.to == w.want && w.want > r.split.Now: // or it is ready for that
	default:
		r.draft.Held = cmp.Or(r.want.Leftover(), stable).ConfirmedAvailable() < r.want.Budget().Enough(r.canary.MaxWeight-w.to)
	}
}

// bothSendElsewhere reports whether both Services select one version that is not the stable one, after a manual edit of the stable Service or
// under the previous strategy. That version keeps all its pods for this, which leaves the stable one no room for as many before the Service
// returns to it.
func (r *ByWeight) bothSendElsewhere() bool {
	c := r.split.ServedCanary()
	return r.want.Stable() != nil && c != r.want.Stable() && r.bothSendTo(c)
}

// bothSendToStable reports whether the canary has a weight, a manual edit left both Services on the stable version, and that version has an
// available pod. It carries everything then, and the weight has no effect. The canary Service is therefore moved immediately, without waiting
// until the stable version has pods for all traffic, for which there may be no room next to the new version's.
func (r *ByWeight) bothSendToStable() bool {
	stable := r.want.Stable()
	if r.split.Now == 0 || stable.ConfirmedAvailable() == 0 || !r.bothSendTo(stable) {
		return false
	}
	if !r.world.ServicesLive { // a cache may not have what an earlier pass pointed
		r.journal.Need(change.NeedLiveServices{})
	}
	return r.world.ServicesLive
}

// bothSendTo reports whether both Services send to one version alone.
func (r *ByWeight) bothSendTo(v *world.Version) bool {
	return r.entry(r.split.StableService.Name).only(v) && r.entry(r.split.CanaryService.Name).only(v)
}

// carriedElsewhere is how many pods serve behind the Services that the spec does not name any more, which routes may send to still: the canary
// Service has got another name, and that one sends to nobody yet. Where the number of pods is limited nobody waits for pods that the stable version
// finds no room for beside these.
func (r *ByWeight) carriedElsewhere() int32 {
	if r.split.ServedCanary() != nil || r.EnforceMaxSurge && r.want.Stable().Desired() < r.want.Replicas() {
		return 0
	}
	var serving int32
	for _, s := range r.world.UnnamedServices() {
		if v := r.world.Find(r.draft.Selects(s.Name)); v != nil && v != r.want.Stable() {
			serving = max(serving, v.Counts().Serving())
		}
	}
	return serving
}
