package plan

import (
	"fmt"
	"reflect"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
)

// routedCanary moves traffic by weights, and lets pods follow: what is to get traffic has its pods first, and what loses traffic
// loses it before its pods.
//
// Up to four versions may play a part: the new one, the stable one, the one that the canary Service still selects when an update
// overtakes another (the carrier), and the last stable one until the stable Service has left it.
func (r *routing) routedCanary() {
	r.checkServices()
	r.see()
	r.overtake()
	r.succeed()
	if why := r.mayNotScale(); why == "" {
		r.size()
	} else {
		r.Note(change.TopicWait, "nothing is scaled and no step ends", why)
		if r.create != nil {
			r.scaleNew(0, why)
		}
	}
	if len(r.problems) > 0 { // until the Services are mended the traffic stays where it is
		r.next = r.split(r.now)
		_, others := r.render(r.next) // which are told now, and not when these are mended
		r.complain(others)
		return
	}
	r.pointServices()
	weight, why := r.weigh()
	r.route(weight, why)
	r.giveBack(r.routers...)
	if r.mayNotScale() == "" {
		r.retire()
	}
}

// overtake notes on a version that an update overtakes that it was never promoted: should it come back when the strategy is blue-green, it
// is not one that has served before.
func (r *routing) overtake() {
	last := r.find(r.was.CurrentPodHash)
	if r.begun && last.desired() > 0 && last != r.new && last != r.stable {
		setKey(&r.edit(last).Annotations, v1alpha1.OvertakenAnnotation, "true")
	}
}

// succeed has the new version play the stable one's part where that is gone, and a version that was overtaken carries what it carried. The
// traffic comes to the new one by weight then, as the two make room for each other: the canary Service could only move all of it at once, to
// pods that there is no room for.
func (r *routing) succeed() {
	if c := r.carrier(); r.EnforceMaxSurge && r.alone() && !r.is.Abort && c != nil && c != r.new {
		r.stable = r.new
	}
}

// carrier is the version that the canary Service sends to, nil if it is none that is known.
func (r *routing) carrier() *version { return r.find(r.selects(r.canaryService.Name)) }

// goal is the weight that the canary should come to at the current step.
func (r *routing) goal() int32 {
	switch {
	case r.promoted():
		return 0
	case r.selects(r.canaryService.Name) != r.is.CurrentPodHash: // it carries another version, or all of them
		return 0
	case r.takesOver():
		return r.now
	}
	return r.weight(r.canary)
}

// takesOver reports whether the new version, having all its pods, is promoted as it is and takes the stable Service over then: there
// is no need to move the traffic twice. With pingPong it is the weight that moves it.
func (r *routing) takesOver() bool {
	return r.is.PromoteFull && !r.DynamicStableScale && !r.canary.PingPong
}

// alone reports whether the stable version's ReplicaSet is gone, which somebody deleted: the new version is all there is.
func (r *routing) alone() bool { return r.stable == nil && r.new != nil && !r.promoted() }

// weigh returns the weight to set in this pass, and why it is that.
func (r *routing) weigh() (weight int32, why string) {
	if r.alone() && r.carrier() == r.new {
		if r.new.fleet().available == 0 && r.replicas() > 0 {
			return r.now, "it has no available pod"
		}
		return r.canary.MaxWeight, "the stable version is gone"
	}
	if r.stableBeside() == nil && r.carrier() == r.new || r.stableService.Name == "" {
		return r.settle()
	}
	if r.EnforceMaxSurge && r.bothSendElsewhere() {
		return r.canary.MaxWeight, "both services send to it, and the stable one has to be free for the stable version"
	}
	if r.now > 0 && r.bothSendToStable() {
		return 0, "both services send to the stable version, whatever the weight"
	}
	carrier, want, why := r.carrier(), r.goal(), r.whyGoal()
	if want > 0 && carrier.fleet().available == 0 && r.replicas() > 0 {
		want, why = 0, "it has no available pod"
	}
	if r.stable == nil || r.selects(r.stableService.Name) != r.stable.hash || r.observedSelects(r.stableService.Name) != r.stable.hash {
		return r.now, "the stable service does not send to the stable version yet"
	}
	size := r.aim()
	if want > 0 && size == 0 && carrier == r.new && r.replicas() > 0 { // the step takes its pods away
		want, why = 0, "the step takes all its pods away"
	}
	m := move{
		now: r.now, want: want, max: r.canary.MaxWeight,
		replicas: r.replicas(), tolerated: r.canary.MaxUnavailable,
		canary: carrier.fleet().serving(), stable: r.stable.certain(),
		ready:   carrier != nil && !carrier.stale() && r.canary.Threshold.Met(carrier.fleet().serving(), size),
		gradual: r.gradual(),
	}
	next := m.next()
	r.held = want < r.now && r.stable.stale() || r.misleads(next, want)
	switch {
	case next == want && want == r.now:
		return next, fmt.Sprintf("%s as it should be", r.portionText(want))
	case next == want:
		return next, why
	case want > r.now:
		r.Note(change.TopicWait, fmt.Sprintf("%s to the canary", r.portionText(want)), fmt.Sprintf("%d of %d pods available", m.canary, size))
		return next, "its available pods can carry that"
	}
	r.Note(change.TopicWait, fmt.Sprintf("%s to the canary", r.portionText(want)), fmt.Sprintf("%d of %d pods of the stable version available",
		m.stable, share(r.canary.MaxWeight-want, r.replicas(), r.canary.MaxWeight)))
	return next, "the stable version cannot carry more yet"
}

// bothSendElsewhere reports whether both Services send to one version that is not the stable one: somebody has pointed the stable Service there, or
// the strategy before this one. The version keeps all its pods for that, and leaves the stable one no room to have as many before the Service
// comes back to it.
func (r *routing) bothSendElsewhere() bool {
	c, name := r.carrier(), r.stableService.Name
	return c != nil && r.stable != nil && c != r.stable && r.selects(name) == c.hash && r.observedSelects(name) == c.hash && r.observedSelects(r.canaryService.Name) == c.hash
}

// bothSendToStable reports whether both Services are known to send to the stable version, somebody having pointed the canary one there, and it has a
// pod. It carries everything then, and a weight changes nothing: the canary Service is freed at once, and not when the stable version has
// the pods for that, which may find no room beside those of the new one.
func (r *routing) bothSendToStable() bool {
	if r.carrier() == nil || r.carrier() != r.stable || r.stable.certain() == 0 {
		return false
	}
	for _, name := range serviceNames(r.canary) {
		if r.selects(name) != r.stable.hash || r.observedSelects(name) != r.stable.hash {
			return false
		}
	}
	if !r.ServicesLive { // a cache may not have what an earlier pass pointed
		r.Need(change.NeedLiveServices{})
	}
	return r.ServicesLive
}

// misleads reports whether to bring the routers in line could send traffic to where nobody can carry it. Routers that do not show what the
// status has may be further than that, or not as far: a pass told some of them and could not record it.
func (r *routing) misleads(weight, want int32) bool {
	canary, stable := r.carrier().fleet().serving()+r.carriedElsewhere(), r.stable.certain()
	switch {
	case r.inForce, r.replicas() == 0:
		return false
	case canary == 0:
		return stable == 0
	case weight == want && want > r.now: // it is ready for that
		return false
	}
	return stable < r.room().enough(r.canary.MaxWeight-weight)
}

// carriedElsewhere is how many pods serve behind the Services that the spec does not name any more, which routes may send to still: the canary
// Service has got another name, and that one sends to nobody yet. Where the number of pods is limited nobody waits for the stable version to
// have enough for these: it may find no room beside them.
func (r *routing) carriedElsewhere() int32 {
	if r.carrier() != nil || r.EnforceMaxSurge {
		return 0
	}
	var serving int32
	for _, s := range r.unnamedServices() {
		if v := r.find(r.selects(s.Name)); v != nil && v != r.stable {
			serving = max(serving, v.fleet().serving())
		}
	}
	return serving
}

// settle is the weight once both Services send to one version: none for the canary, whatever was there before.
func (r *routing) settle() (int32, string) {
	if r.now > 0 && r.observedSelects(r.stableService.Name) != r.is.StableRS {
		return r.now, "the stable service does not send to the stable version yet"
	}
	return 0, "there is one version only"
}

func (r *routing) whyGoal() string {
	switch {
	case r.is.Abort:
		return "the update was aborted"
	case r.promoted():
		return "the stable version is the current one"
	case r.carrier() != r.new:
		return "another version has overtaken it"
	case r.is.PromoteFull:
		return "a full promotion was requested"
	case r.at() == r.stepCount():
		return "all steps are done"
	}
	return fmt.Sprintf("step %d of %d", r.at()+1, r.stepCount())
}

// gradual reports whether traffic may follow the pods one by one, instead of waiting for all that a step asks for.
func (r *routing) gradual() bool {
	return r.EnforceMaxSurge || r.is.PromoteFull || r.fastRollback()
}

// replicas is how many pods carry all the traffic.
func (r *routing) replicas() int32 { return r.spec.Replicas }

// carries reports whether everything goes to the new version, so that it can be promoted, or else what is missing.
func (r *routing) carries() (bool, string) {
	if r.takesOver() {
		return true, ""
	}
	return r.weighs(r.canary.MaxWeight)
}

// wanted is how many pods the new version needs available to be promoted: all, or as many of them as there is room for beside the stable
// version's. The others come when those are gone.
func (r *routing) wanted() int32 {
	if r.stableBeside() == nil {
		return r.replicas()
	}
	return min(r.replicas(), r.aim())
}

// weighs reports whether every router sends this weight to the new version by the end of this pass, or else what is missing.
func (r *routing) weighs(weight int32) (bool, string) {
	w := r.is.Canary.Weights
	if r.alone() {
		weight = r.canary.MaxWeight
	}
	switch {
	case len(r.problems) > 0:
		return false, "the traffic cannot be moved: " + r.problems[0].String()
	case weight > 0 && r.selects(r.canaryService.Name) != r.is.CurrentPodHash: // nothing is carried by any version
		return false, "the canary service does not send to the new version yet"
	case w == nil || w.Canary.ServiceName != r.canaryService.Name || w.Canary.Weight != weight:
		return false, fmt.Sprintf("the canary gets %s of the traffic, not %s yet", r.portionText(r.next.Canary.Weight), r.portionText(weight))
	}
	return true, ""
}

// sends reports whether the managed routes are as the steps so far have it by the end of this pass, or else what is missing. Routes to a
// version without pods come with its first pod; there is nothing to wait for.
func (r *routing) sends() (bool, string) {
	if len(r.problems) > 0 {
		return false, "the route cannot be set: " + r.problems[0].String()
	}
	if r.aim() > 0 && !r.canServe() {
		return false, "no pod of the new version is available"
	}
	if !reflect.DeepEqual(r.routes(), r.next.Routes) { // a step before this one has ended in this very pass
		return false, "the route is set next"
	}
	return true, ""
}

// reached reports whether the pods are as the current step wants them, or else what is missing.
func (r *routing) reached() (bool, string) {
	want := r.aim()
	want = max(want, roomFor(r.new.desired(), r.withSurge(r.new, want), r.free()))
	canary := r.new.fleet()
	if !r.canary.Threshold.Met(canary.available, want) {
		return false, fmt.Sprintf("%d of %d canary pods available", canary.available, want)
	}
	if canary.desired != want || canary.available > want {
		return false, fmt.Sprintf("the canary is on its way from %d to %d pods", canary.actual, want)
	}
	if stable := r.stableBeside(); stable != nil && !r.DynamicStableScale {
		if s := stable.fleet(); s.desired != s.actual || s.desired < r.replicas() {
			return false, fmt.Sprintf("the stable version is on its way from %d to %d pods", s.actual, r.replicas())
		}
	}
	return true, ""
}
