package bluegreen

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Run brings up a full stack of the new version beside the old one, and switches the active Service between them.
//
// Three versions may play a part: the new one, the stable one that everything can go back to, and, between the switch and the
// promotion or when one update overtakes another, a third that the active Service selects.
func (p *BlueGreen) Run(b spec.BlueGreen) {
	if p.update.Is.StableRS == "" {
		p.update.Promote("Initial deploy")
	}
	p.labels.Separate(b.AntiAffinity)
	p.labels.Dress()
	p.draft.CheckServices()
	p.overtake(b)
	if p.world.Spec.Paused && p.update.State() != progress.Aborted {
		p.journal.Note(change.TopicWait, "nothing is scaled or switched", "spec.paused is set")
		if p.draft.Create != nil {
			p.draft.ScaleNew(0, "spec.paused is set")
		}
		p.seeSelectors(b)
		return
	}
	p.judge.DropAnalyses(b)
	p.sizeStacks(b)
	if len(p.update.Problems) == 0 {
		if b.PreviewService != "" {
			p.draft.Point(b.PreviewService, p.update.Is.CurrentPodHash, "the preview is always the newest version")
		}
		p.cutOver(b)
		p.draft.GiveBack()
		p.retireStacks(b)
	}
	p.seeSelectors(b)
}

// overtake gives up at once, without the delay, what the last update brought up and never switched to: nobody can go back to
// a version that never served. Where that is not known for certain the version has its delay, and its gates again if it comes back.
func (p *BlueGreen) overtake(b spec.BlueGreen) {
	last := p.world.Find(p.update.Was.CurrentPodHash)
	if !p.update.Begun || p.update.Deserted() || last == nil || last.Desired() == 0 || last == p.world.New || last == p.world.Stable ||
		last.Hash == p.update.Was.BlueGreen.ActiveSelector {
		return
	}
	edited := last.Hash == p.world.ObservedSelects(b.ActiveService)
	if edited && !p.wasHeld(b) { // or switched to, by a pass that could not record it
		return
	}
	if edited || p.mayHaveServed(last) {
		world.SetKey(&p.draft.Edit(last).Annotations, v1alpha1.OvertakenAnnotation, "true")
		return
	}
	world.SetKey(&p.draft.Edit(last).Annotations, v1alpha1.ScaleDownDeadlineAnnotation, p.world.Second().UTC().Format(time.RFC3339))
}

// mayHaveServed reports whether requests may have reached a version that was never promoted: one that was aborted may have been so after the
// switch, and one that came back from an earlier revision may have served then.
func (p *BlueGreen) mayHaveServed(v *world.Version) bool {
	return p.update.Was.Abort || p.update.Was.AbortedAt != nil || v.Annotations[v1alpha1.RevisionHistoryAnnotation] != "" || v.Delaying(p.world.Now) ||
		v.Annotations[v1alpha1.ReachedAnnotation] != ""
}

// wasHeld reports whether the update before this one waited for its gate, and no pass can have switched to it.
func (p *BlueGreen) wasHeld(b spec.BlueGreen) bool {
	i := slices.IndexFunc(p.update.Was.PauseConditions, func(c v1alpha1.PauseCondition) bool { return c.Reason == v1alpha1.PauseReasonBlueGreenPause })
	return i >= 0 && b.Gate != nil && (b.Gate.Indefinite || p.world.Now.Before(p.update.Was.PauseConditions[i].StartTime.Add(b.Gate.Duration)))
}

// seeSelectors records what the Services select. The active one's version is the one that ought to serve: one that somebody's edit sends to,
// and that could not be pointed back yet, is not recorded.
func (p *BlueGreen) seeSelectors(b spec.BlueGreen) {
	if active := p.draft.Selects(b.ActiveService); p.update.Serving != nil && active == p.update.Serving.Hash {
		p.update.Is.BlueGreen.ActiveSelector = active
	}
	p.update.Is.BlueGreen.PreviewSelector = ""
	if b.PreviewService != "" {
		p.update.Is.BlueGreen.PreviewSelector = p.draft.Selects(b.PreviewService)
	}
}

// sizeStacks gives each version that serves, or is about to, its pods.
func (p *BlueGreen) sizeStacks(b spec.BlueGreen) {
	full := p.world.Spec.Replicas
	if p.draft.Create != nil { // without pods, so that the preview Service selects them from the first one on
		p.draft.ScaleNew(0, "a new version")
	} else if (p.update.State() != progress.Aborted || p.update.Deserted()) && !p.update.Begun { // no pods for an update that no status knows of: one that overtakes it would take them for ones that served
		size, why := p.previewSize(b)
		to := p.restart.WithSurge(p.world.New, size)
		if p.HasSurplus() {
			to = max(to, p.keepSurplus(b, size))
		}
		p.resize(p.world.New, to, why, b)
		if p.update.Deserted() {
			p.draft.Keep(p.world.New)
		}
	}
	if stable := p.world.StableBeside(); stable != nil {
		if !p.judge.Verifying(b) {
			p.draft.Keep(stable)
		}
		p.resize(stable, p.restart.WithSurge(stable, full), "the stable version keeps all its pods", b)
	}
	if third := p.update.Third(); third != nil {
		p.draft.Keep(third)
		p.resize(third, p.restart.WithSurge(third, full), "the active service sends to it", b)
	}
}

// resize changes a version's pods. To fewer than a full stack only if the active Service does not send to it, nor any that is still to be
// given back.
func (p *BlueGreen) resize(v *world.Version, to int32, why string, b spec.BlueGreen) {
	if to < v.Desired() && to < p.world.Spec.Replicas && !p.draft.Unreferenced(v.Hash, p.world.WithUnnamed(b.ActiveService)) {
		return
	}
	p.draft.Scale(v, to, why)
}

// previewSize is how many pods the new version should have: the preview's until nothing but its size keeps it from serving.
func (p *BlueGreen) previewSize(b spec.BlueGreen) (int32, string) {
	switch {
	case !b.PreviewLimited, p.update.State() == progress.Settled, p.update.State() == progress.PromotedInFull, p.update.Is.BlueGreen.ScaleUpPreviewCheckPoint, p.update.Deserted(),
		p.update.Was.BlueGreen.ActiveSelector == p.update.Is.CurrentPodHash:
		return p.world.Spec.Replicas, "a full stack of the new version"
	}
	return b.PreviewReplicas, "previewReplicaCount"
}

// HasSurplus reports whether the new version has more pods than its preview is to have: it has served, before an abort or another update,
// and comes back.
func (p *BlueGreen) HasSurplus() bool {
	b, ok := p.world.Spec.Strategy.(spec.BlueGreen)
	if !ok || p.update.State() == progress.Aborted {
		return false
	}
	size, _ := p.previewSize(b)
	return size < p.world.Spec.Replicas && p.world.New.Desired() > size+p.restart.Surging()
}

// keepSurplus lets such a version keep its pods for the delay, as if it did not come back: proxies that have not heard yet may still send to
// them. Where nobody gave it a deadline before, it begins now.
func (p *BlueGreen) keepSurplus(b spec.BlueGreen, size int32) int32 {
	deadline := p.draft.StartDelay(p.world.New, p.draft.AfterUse(b.ScaleDownDelay))
	if !p.world.Now.Before(deadline) {
		return size
	}
	p.journal.Note(change.TopicWait, fmt.Sprintf("%s keeps its pods until %s", p.world.New.Name, deadline.UTC().Format(time.RFC3339)), "it may have served a moment ago")
	p.journal.WakeAt(deadline)
	return p.world.New.Desired()
}

// cutOver has the active Service select the version that ought to serve, and promotes the new version behind the switch.
func (p *BlueGreen) cutOver(b spec.BlueGreen) {
	passed := p.opened(b)
	v, why := p.serves(b, passed)
	p.update.Serving = v
	if !p.activate(b, v, why) || !passed || v != p.world.New || !p.judge.PassedBehind(b) {
		return
	}
	if p.world.ObservedSelects(b.ActiveService) == p.world.New.Hash && !p.world.ServicesLive { // no write of this pass vouches for the switch
		p.journal.Need(change.NeedLiveServices{})
		return
	}
	p.update.Promote(p.howPromoted())
}

// opened reports whether the update has passed everything that comes before the switch.
func (p *BlueGreen) opened(b spec.BlueGreen) bool {
	if p.update.State() == progress.Settled || p.update.State() == progress.Aborted {
		return false
	}
	passed, missing := p.gates(b)
	if !passed {
		p.journal.Note(change.TopicWait, "the switch of the active service", missing)
	} else if !p.canTakeOver(b) {
		p.journal.Note(change.TopicWait, "the switch of the active service to "+p.update.Is.CurrentPodHash, fmt.Sprintf("%d of %d pods available", p.world.New.Fleet().Serving(), p.enough(b)))
	}
	return passed
}

func (p *BlueGreen) howPromoted() string {
	switch {
	case p.update.State() == progress.PromotedInFull:
		return "Full promotion requested"
	case p.update.FastRollback() && p.world.WithinWindow():
		return "Rollback within window"
	case p.update.FastRollback():
		return "Fast rollback"
	}
	return "Completed blue-green update"
}

// gates reports whether everything that was to come before the switch has come, or else what is missing. Once it has, the
// status says so in scaleUpPreviewCheckPoint, and pods that fail after that only delay the switch. A pass that switched and could not
// record it finds the gates passed again, by what let them be passed.
func (p *BlueGreen) gates(b spec.BlueGreen) (passed bool, missing string) {
	checkPoint := &p.update.Is.BlueGreen.ScaleUpPreviewCheckPoint
	if p.update.State() == progress.PromotedInFull || *checkPoint || p.hasSwitched() {
		*checkPoint = true
		return true, ""
	}
	// A pause that has begun goes on, and is ended by a person, whatever becomes of the pods meanwhile.
	held := p.update.Is.ControllerPause || !p.update.PausedSince(v1alpha1.PauseReasonBlueGreenPause).IsZero() ||
		p.update.Is.BlueGreen.PrePromotionAnalysisRunStatus != nil
	if ready, missing := p.previewReady(b); !ready && !held {
		return false, missing
	}
	if passed, missing := p.judge.PassedBefore(b); !passed {
		return false, missing
	}
	switch {
	case b.Gate != nil:
		if done, missing := p.update.Hold(v1alpha1.PauseReasonBlueGreenPause, *b.Gate); !done {
			return false, missing
		}
	case !p.update.PausedSince(v1alpha1.PauseReasonBlueGreenPause).IsZero(): // the spec asks for it no more
		p.update.EndPause(v1alpha1.PauseReasonBlueGreenPause)
	}
	*checkPoint = true
	return true, ""
}

// hasSwitched reports whether the status tells of a switch to the new version that was recorded without its gates, as other controllers of
// this API record it. Where the stable version is gone the new one serves without having passed them.
func (p *BlueGreen) hasSwitched() bool {
	return p.world.Stable != nil && p.update.Was.BlueGreen.ActiveSelector == p.update.Is.CurrentPodHash
}

// previewReady reports whether the new version has all the pods that its preview is to have, or else how many.
func (p *BlueGreen) previewReady(b spec.BlueGreen) (bool, string) {
	size, _ := p.previewSize(b)
	size = p.restart.WithSurge(p.world.New, size)
	have := p.world.New.Fleet()
	if needed := capacity.LeastOf(size, b.MaxUnavailable); p.world.New == nil || p.world.New.Stale() || have.Desired < size || have.Serving() < needed {
		return false, fmt.Sprintf("%d of %d pods of the new version available", have.Serving(), needed)
	}
	return true, ""
}

// retireStacks takes away the pods of versions that nothing sends to any more, after their delays.
func (p *BlueGreen) retireStacks(b spec.BlueGreen) {
	if p.update.State() == progress.Aborted && !b.AbortScaleDown {
		p.draft.Keep(p.world.New) // where it had a delay, 0 ends that, and the pods stay
	}
	if p.update.State() == progress.Aborted && b.AbortScaleDown && p.world.New != nil && p.world.New != p.update.Serving {
		if p.world.ObservedSelects(b.ActiveService) == p.world.New.Hash { // a deadline that it has is from before the switch was seen
			p.draft.Keep(p.world.New)
		}
		p.draft.Retire(p.world.New, p.draft.AfterAbort(b.AbortScaleDownDelay), draft.Retirement{
			Size: p.world.New.Desired(), Reason: "the update was aborted", Services: p.world.WithUnnamed(b.ActiveService),
		})
	}
	if !p.update.PausedSince(v1alpha1.PauseReasonInconclusiveAnalysis).IsZero() {
		return // nobody knows yet which version is good
	}
	p.spareEdited(b)
	p.draft.RetireOthers(b.ScaleDownDelay, b.ScaleDownDelayRevisionLimit, draft.Retirement{
		Size: p.world.Spec.Replicas, Reason: "an old version", Services: p.world.WithUnnamed(b.ActiveService, b.PreviewService), Spared: p.update.Serving,
	})
}

// spareEdited keeps a version that the active Service has sent to until this pass. Where its own delay was over before somebody's edit sent
// there, it is none that could come back without its gates, and the edit does not make it one.
func (p *BlueGreen) spareEdited(b spec.BlueGreen) {
	v := p.world.Find(p.world.ObservedSelects(b.ActiveService))
	if v == nil {
		return
	}
	if over := !v.Deadline().IsZero() && !v.Delaying(p.world.Now); over && v != p.world.New && v != p.world.Stable && v.Hash != p.update.Was.BlueGreen.ActiveSelector {
		world.SetKey(&p.draft.Edit(v).Annotations, v1alpha1.OvertakenAnnotation, "true")
	}
	p.draft.Keep(v)
}

// WithoutNew has the active Service select the version that served before the update that cannot begin, with all its pods. The Service
// may have been edited, and what served deleted, since the last pass that had its ReplicaSets.
func (p *BlueGreen) WithoutNew(b spec.BlueGreen) {
	p.draft.CheckServices()
	if p.world.Spec.Paused && p.update.State() != progress.Aborted || len(p.update.Problems) > 0 {
		return
	}
	v, why := p.servesStill()
	if v == nil {
		return
	}
	p.update.Serving = v
	p.draft.Keep(v)
	p.resize(v, p.world.Spec.Replicas, draft.WithoutNew, b)
	p.activate(b, v, why)
	p.seeSelectors(b)
}
