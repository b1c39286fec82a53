package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// blueGreen brings up a full stack of the new version beside the old one, and switches the active Service between them.
//
// Three versions may play a part: the new one, the stable one that everything can go back to, and, between the switch and the
// promotion or when one update overtakes another, a third that the active Service selects.
func (p *pass) blueGreen(b spec.BlueGreen) {
	if p.is.StableRS == "" {
		p.promote("Initial deploy")
	}
	p.separate(b.AntiAffinity)
	p.dress()
	p.checkServices()
	p.overtake(b)
	if p.spec.Paused && !p.is.Abort {
		p.Note(change.TopicWait, "nothing is scaled or switched", "spec.paused is set")
		if p.create != nil {
			p.scaleNew(0, "spec.paused is set")
		}
		p.seeSelectors(b)
		return
	}
	p.dropAnalyses(b)
	p.sizeStacks(b)
	if len(p.problems) == 0 {
		if b.PreviewService != "" {
			p.point(b.PreviewService, p.is.CurrentPodHash, "the preview is always the newest version")
		}
		p.cutOver(b)
		p.giveBack()
		p.retireStacks(b)
	}
	p.seeSelectors(b)
}

// overtake gives up at once, without the delay, what the last update brought up and never switched to: nobody can go back to
// a version that never served. Where that is not known for certain the version has its delay, and its gates again if it comes back.
func (p *pass) overtake(b spec.BlueGreen) {
	last := p.find(p.was.CurrentPodHash)
	if !p.begun || p.deserted() || last == nil || last.desired() == 0 || last == p.new || last == p.stable ||
		last.hash == p.was.BlueGreen.ActiveSelector {
		return
	}
	edited := last.hash == p.observedSelects(b.ActiveService)
	if edited && !p.wasHeld(b) { // or switched to, by a pass that could not record it
		return
	}
	// One that was aborted may have been so behind the switch, and one that came back from an earlier revision may have served then.
	if edited || p.was.Abort || p.was.AbortedAt != nil || last.Annotations[v1alpha1.RevisionHistoryAnnotation] != "" || last.delaying(p.Now) ||
		last.Annotations[v1alpha1.ReachedAnnotation] != "" {
		setKey(&p.edit(last).Annotations, v1alpha1.OvertakenAnnotation, "true")
		return
	}
	setKey(&p.edit(last).Annotations, v1alpha1.ScaleDownDeadlineAnnotation, p.now().UTC().Format(time.RFC3339))
}

// wasHeld reports whether the update before this one waited for its gate, and no pass can have switched to it.
func (p *pass) wasHeld(b spec.BlueGreen) bool {
	i := slices.IndexFunc(p.was.PauseConditions, func(c v1alpha1.PauseCondition) bool { return c.Reason == v1alpha1.PauseReasonBlueGreenPause })
	return i >= 0 && b.Gate != nil && (b.Gate.Indefinite || p.Now.Before(p.was.PauseConditions[i].StartTime.Add(b.Gate.Duration)))
}

// seeSelectors records what the Services select. The active one's version is the one that ought to serve: one that somebody's edit sends to,
// and that could not be pointed back yet, is not recorded.
func (p *pass) seeSelectors(b spec.BlueGreen) {
	if active := p.selects(b.ActiveService); p.serving != nil && active == p.serving.hash {
		p.is.BlueGreen.ActiveSelector = active
	}
	p.is.BlueGreen.PreviewSelector = ""
	if b.PreviewService != "" {
		p.is.BlueGreen.PreviewSelector = p.selects(b.PreviewService)
	}
}

// sizeStacks gives each version that serves, or is about to, its pods.
func (p *pass) sizeStacks(b spec.BlueGreen) {
	full := p.spec.Replicas
	if p.create != nil { // without pods, so that the preview Service selects them from the first one on
		p.scaleNew(0, "a new version")
	} else if (!p.is.Abort || p.deserted()) && !p.begun { // no pods for an update that no status knows of: one that overtakes it would take them for ones that served
		size, why := p.previewSize(b)
		to := p.withSurge(p.new, size)
		if p.hasSurplus() {
			to = max(to, p.keepSurplus(b, size))
		}
		p.resize(p.new, to, why, b)
		if p.deserted() {
			p.keep(p.new)
		}
	}
	if stable := p.stableBeside(); stable != nil {
		if !p.verifying(b) {
			p.keep(stable)
		}
		p.resize(stable, p.withSurge(stable, full), "the stable version keeps all its pods", b)
	}
	if third := p.third(); third != nil {
		p.keep(third)
		p.resize(third, p.withSurge(third, full), "the active service sends to it", b)
	}
}

// resize changes a version's pods. To fewer than a full stack only if the active Service does not send to it, nor any that is still to be
// given back.
func (p *pass) resize(v *version, to int32, why string, b spec.BlueGreen) {
	if to < v.desired() && to < p.spec.Replicas && !p.unreferenced(v.hash, p.withUnnamed(b.ActiveService)) {
		return
	}
	p.scale(v, to, why)
}

// previewSize is how many pods the new version should have: the preview's until nothing but its size keeps it from serving.
func (p *pass) previewSize(b spec.BlueGreen) (int32, string) {
	switch {
	case !b.PreviewLimited, p.promoted(), p.is.PromoteFull, p.is.BlueGreen.ScaleUpPreviewCheckPoint, p.deserted(),
		p.was.BlueGreen.ActiveSelector == p.is.CurrentPodHash:
		return p.spec.Replicas, "a full stack of the new version"
	}
	return b.PreviewReplicas, "previewReplicaCount"
}

// hasSurplus reports whether the new version has more pods than its preview is to have: it has served, before an abort or another update,
// and comes back.
func (p *pass) hasSurplus() bool {
	b, ok := p.spec.Strategy.(spec.BlueGreen)
	if !ok || p.is.Abort {
		return false
	}
	size, _ := p.previewSize(b)
	return size < p.spec.Replicas && p.new.desired() > size+p.surging()
}

// keepSurplus lets such a version keep its pods for the delay, as if it did not come back: proxies that have not heard yet may still send to
// them. Where nobody gave it a deadline before, it begins now.
func (p *pass) keepSurplus(b spec.BlueGreen, size int32) int32 {
	deadline := p.startDelay(p.new, p.afterUse(b.ScaleDownDelay))
	if !p.Now.Before(deadline) {
		return size
	}
	p.Note(change.TopicWait, fmt.Sprintf("%s keeps its pods until %s", p.new.Name, deadline.UTC().Format(time.RFC3339)), "it may have served a moment ago")
	p.WakeAt(deadline)
	return p.new.desired()
}

// cutOver has the active Service select the version that ought to serve, and promotes the new version behind the switch.
func (p *pass) cutOver(b spec.BlueGreen) {
	passed := p.opened(b)
	v, why := p.serves(b, passed)
	p.serving = v
	if !p.activate(b, v, why) || !passed || v != p.new || !p.passedBehind(b) {
		return
	}
	if p.observedSelects(b.ActiveService) == p.new.hash && !p.ServicesLive { // no write of this pass vouches for the switch
		p.Need(change.NeedLiveServices{})
		return
	}
	p.promote(p.howPromoted())
}

// opened reports whether the update has passed everything that comes before the switch.
func (p *pass) opened(b spec.BlueGreen) bool {
	if p.promoted() || p.is.Abort {
		return false
	}
	passed, missing := p.gates(b)
	if !passed {
		p.Note(change.TopicWait, "the switch of the active service", missing)
	} else if !p.canTakeOver(b) {
		p.Note(change.TopicWait, "the switch of the active service to "+p.is.CurrentPodHash, fmt.Sprintf("%d of %d pods available", p.new.fleet().serving(), p.enough(b)))
	}
	return passed
}

func (p *pass) howPromoted() string {
	switch {
	case p.is.PromoteFull:
		return "Full promotion requested"
	case p.fastRollback() && p.withinWindow():
		return "Rollback within window"
	case p.fastRollback():
		return "Fast rollback"
	}
	return "Completed blue-green update"
}

// staying is how many pods of a version can be relied on, also behind this pass.
func (p *pass) staying(v *version) int32 {
	if v == nil {
		return 0
	}
	after := version{ReplicaSet: p.edited(v)}
	return min(v.fleet().serving(), after.desired())
}

// stale reports whether the ReplicaSet controller has not acted upon the ReplicaSet's newest size yet, so that its counts are
// those of another.
func (v *version) stale() bool { return v.Status.ObservedGeneration < v.Generation }

func (p *pass) find(hash string) *version {
	for _, v := range p.all() {
		if hash != "" && v.hash == hash {
			return v
		}
	}
	return nil
}

// gates reports whether everything that was to come before the switch has come, or else what is missing. Once it has, the
// status says so in scaleUpPreviewCheckPoint, and pods that fail after that only delay the switch. A pass that switched and could not
// record it finds the gates passed again, by what let them be passed.
func (p *pass) gates(b spec.BlueGreen) (passed bool, missing string) {
	checkPoint := &p.is.BlueGreen.ScaleUpPreviewCheckPoint
	if p.is.PromoteFull || *checkPoint || p.hasSwitched() {
		*checkPoint = true
		return true, ""
	}
	// A pause that has begun goes on, and is ended by a person, whatever becomes of the pods meanwhile.
	held := p.is.ControllerPause || !p.pausedSince(v1alpha1.PauseReasonBlueGreenPause).IsZero() ||
		p.is.BlueGreen.PrePromotionAnalysisRunStatus != nil
	if ready, missing := p.previewReady(b); !ready && !held {
		return false, missing
	}
	if passed, missing := p.passedBefore(b); !passed {
		return false, missing
	}
	switch {
	case b.Gate != nil:
		if done, missing := p.hold(v1alpha1.PauseReasonBlueGreenPause, *b.Gate); !done {
			return false, missing
		}
	case !p.pausedSince(v1alpha1.PauseReasonBlueGreenPause).IsZero(): // the spec asks for it no more
		p.endPause(v1alpha1.PauseReasonBlueGreenPause)
	}
	*checkPoint = true
	return true, ""
}

// hasSwitched reports whether the status tells of a switch to the new version that was recorded without its gates, as other controllers of
// this API record it. Where the stable version is gone the new one serves without having passed them.
func (p *pass) hasSwitched() bool {
	return p.stable != nil && p.was.BlueGreen.ActiveSelector == p.is.CurrentPodHash
}

// previewReady reports whether the new version has all the pods that its preview is to have, or else how many.
func (p *pass) previewReady(b spec.BlueGreen) (bool, string) {
	size, _ := p.previewSize(b)
	size = p.withSurge(p.new, size)
	have := p.new.fleet()
	if needed := leastOf(size, b.MaxUnavailable); p.new == nil || p.new.stale() || have.desired < size || have.serving() < needed {
		return false, fmt.Sprintf("%d of %d pods of the new version available", have.serving(), needed)
	}
	return true, ""
}

// retireStacks takes away the pods of versions that nothing sends to any more, after their delays.
func (p *pass) retireStacks(b spec.BlueGreen) {
	if p.is.Abort && !b.AbortScaleDown {
		p.keep(p.new) // where it had a delay, 0 ends that, and the pods stay
	}
	if p.is.Abort && b.AbortScaleDown && p.new != nil && p.new != p.serving {
		if p.observedSelects(b.ActiveService) == p.new.hash { // a deadline that it has is from before the switch was seen
			p.keep(p.new)
		}
		p.retire(p.new, p.afterAbort(b.AbortScaleDownDelay), retirement{
			size: p.new.desired(), reason: "the update was aborted", services: p.withUnnamed(b.ActiveService),
		})
	}
	if !p.pausedSince(v1alpha1.PauseReasonInconclusiveAnalysis).IsZero() {
		return // nobody knows yet which version is good
	}
	p.spareEdited(b)
	p.retireOthers(b.ScaleDownDelay, b.ScaleDownDelayRevisionLimit, retirement{
		size: p.spec.Replicas, reason: "an old version", services: p.withUnnamed(b.ActiveService, b.PreviewService), spared: p.serving,
	})
}

// spareEdited keeps a version that the active Service has sent to until this pass. Where its own delay was over before somebody's edit sent
// there, it is none that could come back without its gates, and the edit does not make it one.
func (p *pass) spareEdited(b spec.BlueGreen) {
	v := p.find(p.observedSelects(b.ActiveService))
	if v == nil {
		return
	}
	if over := !v.deadline().IsZero() && !v.delaying(p.Now); over && v != p.new && v != p.stable && v.hash != p.was.BlueGreen.ActiveSelector {
		setKey(&p.edit(v).Annotations, v1alpha1.OvertakenAnnotation, "true")
	}
	p.keep(v)
}

// serveWithoutNew has the active Service select the version that served before the update that cannot begin, with all its pods. The Service
// may have been edited, and what served deleted, since the last pass that had its ReplicaSets.
func (p *pass) serveWithoutNew(b spec.BlueGreen) {
	p.checkServices()
	if p.spec.Paused && !p.is.Abort || len(p.problems) > 0 {
		return
	}
	v, why := p.servesStill()
	if v == nil {
		return
	}
	p.serving = v
	p.keep(v)
	p.resize(v, p.spec.Replicas, withoutNew, b)
	p.activate(b, v, why)
	p.seeSelectors(b)
}
