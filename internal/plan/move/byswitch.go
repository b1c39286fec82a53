package move

import (
	"fmt"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/bluegreen"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/restart"
	"github.com/sluice-delivery/sluice/internal/plan/target"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// BySwitch moves a blue-green rollout.
type BySwitch struct {
	scene
	mover     *Mover
	restart   *restart.Restart
	bluegreen spec.BlueGreen
	want      *bluegreen.BlueGreen
	// unserved: something is wrong with the Services, so that nothing is switched or given back.
	unserved bool
}

// BySwitch moves a blue-green rollout.
func (m *Mover) BySwitch(r *restart.Restart, want *bluegreen.BlueGreen, b spec.BlueGreen) *BySwitch {
	return &BySwitch{scene: m.scene, mover: m, restart: r, bluegreen: b, want: want}
}

var sizesBySwitch = []sizeRule[*BySwitch]{
	{Capacity, "surge by switch", (*BySwitch).surge, ""},
	{Delay, "keep the surplus", (*BySwitch).keepSurplus, ""},
	{Service, "keep the active stack", (*BySwitch).keepServing, "until the active service has left it"},
}

var activeBySwitch = []serviceRule[*BySwitch]{
	{Service, "the surplus goes first", (*BySwitch).awaitsSurplus, ""},
	{Service, "pods for the active Service", (*BySwitch).awaitsPods, ""},
}

// Begin checks the Services and notes which version an update supersedes. It reports whether anything may move: [Frozen] holds Services, too.
func (p *BySwitch) Begin() (moves bool) {
	p.draft.CheckServices()
	p.supersede()
	if !p.world.Spec.Paused || p.update.State() == progress.Aborted {
		return true
	}
	p.journal.Hold(Frozen, "nothing is scaled or switched", "spec.paused is set")
	if p.draft.Create != nil {
		p.draft.ScaleNew(0, "spec.paused is set")
	}
	return false
}

// Run moves pods and Services, and reports whether the active Service selects the new version by now, with all gates passed.
func (p *BySwitch) Run() (switched bool) {
	t := p.want.Target()
	for _, v := range t.Used {
		p.draft.Keep(v)
	}
	resize(p, p.scene, sizesOf(t.Sizes), sizesBySwitch)
	if p.unserved = len(p.update.Problems) > 0; p.unserved {
		return false
	}
	if preview := p.bluegreen.PreviewService; preview != "" {
		p.draft.Point(preview, p.update.Is.CurrentPodHash, "the preview is always the newest version")
	}
	return p.cutOver()
}

// Clear releases Services that the spec no longer names, and deletes the pods of versions that receive no requests, after their delays.
func (p *BySwitch) Clear() {
	if p.unserved {
		return
	}
	p.mover.GiveBack()
	p.retire()
}

// cutOver has the active Service select the version that ought to serve, and reports whether that is the new one, with all gates passed.
func (p *BySwitch) cutOver() bool {
	passed, serves := p.opened(), p.want.ServesStill()
	if p.update.State() == progress.Settled || passed && p.canTakeOver() {
		serves = p.want.Serves()
	}
	p.update.Serving = serves.Version
	return p.activate(serves) && passed && serves.Version == p.world.New
}

// opened reports whether the update has passed everything that comes before the switch.
func (p *BySwitch) opened() bool {
	if p.update.State() == progress.Settled || p.update.State() == progress.Aborted {
		return false
	}
	passed, missing := p.want.Gates()
	if !passed {
		p.journal.Note(change.TopicWait, "the switch of the active service", missing)
	} else if !p.canTakeOver() {
		p.journal.Hold(Service, "the switch of the active service to "+p.update.Is.CurrentPodHash, fmt.Sprintf("%d of %d pods available", p.world.New.Counts().Serving(), p.want.Enough()))
	}
	return passed
}

// canTakeOver reports whether the new version serves already and has a pod for that, or has all that it needs.
func (p *BySwitch) canTakeOver() bool {
	if p.world.New == nil {
		return false
	}
	if p.update.Was.BlueGreen.ActiveSelector == p.update.Is.CurrentPodHash {
		return p.staying(p.world.New) >= min(1, p.world.Spec.Replicas)
	}
	return !p.world.New.Unobserved() && p.staying(p.world.New) >= p.want.Enough()
}

// activate points the active Service at a version, in one write, and reports whether it selects that by now.
func (p *BySwitch) activate(s target.Selection) bool {
	v := s.Version
	if v == nil {
		p.journal.Note(change.TopicWait, "the switch of the active service", "the ReplicaSet is not there yet")
		return false
	}
	if !mayPoint(p, p.scene, s, "the switch of the active service to "+v.Hash, activeBySwitch) {
		return false
	}
	if p.draft.Selects(s.Service) != v.Hash {
		p.noteReached()
	}
	p.draft.Point(s.Service, v.Hash, s.Why)
	return true
}

// awaitsPods keeps the active Service where it is until the next version has as many available pods as the one that serves. If nothing serves, or
// only a version that a manual edit selected, one available pod is enough: nothing is at stake. A Service that has never belonged to this
// Rollout may be sending to other pods.
func (p *BySwitch) awaitsPods(s target.Selection) string {
	recorded, leaving := p.update.Was.BlueGreen.ActiveSelector, p.world.Find(p.draft.Selects(s.Service))
	var needed int32
	atStake := true
	switch {
	case recorded == "" && leaving == nil:
		needed = p.want.Enough()
	case leaving == nil || recorded != "" && leaving.Hash != recorded:
		needed, atStake = min(1, p.world.Spec.Replicas), false
	default:
		needed = min(p.want.Enough(), max(1, leaving.Counts().Available))
	}
	if have := p.staying(s.Version); have < needed || s.Version.Unobserved() && atStake {
		return fmt.Sprintf("%d of %d pods available", have, needed)
	}
	return ""
}

// awaitsSurplus keeps the active Service where it is while the next version gives up pods that its preview does not need: none goes that serves.
func (p *BySwitch) awaitsSurplus(s target.Selection) string {
	if after := (world.Version{ReplicaSet: p.draft.Edited(s.Version)}); after.Desired() < min(s.Version.Desired(), p.world.Spec.Replicas) {
		return "pods that its preview does not need go first"
	}
	return ""
}

// surge adds a pod while pods are restarted and none may be missing.
func (p *BySwitch) surge(s sizes) {
	for _, one := range s {
		if one.Version != nil {
			one.to = p.restart.WithSurge(one.Version, one.to)
		}
	}
}

// keepServing leaves the pods to a version that the active Service sends to, or any that is still to be given back. A full stack it may come to.
func (p *BySwitch) keepServing(s sizes) {
	for _, one := range s {
		if one.shrinks() && one.to < p.world.Spec.Replicas && !p.unreached(one.Version, p.world.WithUnnamed(p.bluegreen.ActiveService)) {
			one.stay()
		}
	}
}

// keepSurplus lets the new version, which has more pods than its preview, keep them for the delay, as if it did not come back: proxies that have
// not heard yet may still send to them. Where nobody gave it a deadline before, it begins now.
func (p *BySwitch) keepSurplus(s sizes) {
	one := s.of(p.world.New)
	if one == nil || !p.want.HasSurplus() || p.entry(p.bluegreen.ActiveService).names(p.world.New) { // the delay begins when that has left it
		return
	}
	deadline := p.draft.StartDelay(one.Version, p.draft.AfterUse(p.bluegreen.ScaleDownDelay))
	if !p.world.Now.Before(deadline) {
		return
	}
	p.journal.Hold(Delay, fmt.Sprintf("%s keeps its pods until %s", one.Version.Name, deadline.UTC().Format(time.RFC3339)), "it may have served a moment ago")
	p.journal.WakeAt(deadline)
	one.to = max(one.to, one.Version.Desired())
}

// retire deletes the pods of versions that receive no requests, after their delays.
func (p *BySwitch) retire() {
	if p.update.State() == progress.Aborted && !p.bluegreen.AbortScaleDown { // where it had a delay, 0 ends that, and the pods stay
		p.draft.Keep(p.world.New)
	}
	if p.update.PausedSince(v1alpha1.PauseReasonInconclusiveAnalysis).IsZero() {
		p.spareEdited()
	}
	idle := p.want.Idle(p.update.Serving)
	if len(idle) > 0 && p.world.Stable == nil && p.update.State() != progress.Settled && p.world.Spec.Replicas > 0 && p.staying(p.update.Serving) == 0 {
		p.journal.Hold(Service, "old versions keep their pods", p.update.WhyGone()+", and no other version serves yet")
		return
	}
	for _, one := range idle {
		p.mover.retire(one)
	}
}

// spareEdited keeps a version that the active Service selected until this reconcile: any deadline it has was set before that was seen. If its delay
// had already passed before a manual edit selected it, it could not come back without its gates, and the edit does not change that. The delay
// of a version that an update starts with makes it a fast rollback, and starts again until the status records that: this pass may point the
// Service elsewhere.
func (p *BySwitch) spareEdited() {
	v := p.world.Find(p.world.ObservedSelects(p.bluegreen.ActiveService))
	starts := p.update.Begun && v == p.world.New
	if v == nil || starts && (p.bluegreen.ScaleDownDelay == 0 || !v.Delaying(p.world.Now)) {
		return
	}
	if over := !v.Deadline().IsZero() && !v.Delaying(p.world.Now); over && v != p.world.New && v != p.world.Stable && v.Hash != p.update.Was.BlueGreen.ActiveSelector {
		world.SetKey(&p.draft.Edit(v).Annotations, v1alpha1.OvertakenAnnotation, "true")
	}
	p.draft.Keep(v)
	if starts {
		p.draft.StartDelay(v, p.draft.AfterUse(p.bluegreen.ScaleDownDelay))
	}
}

// WithoutNew has the active Service select the version that served before the update that cannot begin, with all its pods. The Service
// may have been edited, and what served deleted, since the last pass that had its ReplicaSets.
func (p *BySwitch) WithoutNew() {
	p.draft.CheckServices()
	serves := p.want.ServesStill()
	if p.world.Spec.Paused && p.update.State() != progress.Aborted || len(p.update.Problems) > 0 || serves.Version == nil {
		return
	}
	p.update.Serving = serves.Version
	p.draft.Keep(serves.Version)
	resize(p, p.scene, sizesOf([]target.Size{{Version: serves.Version, Pods: p.world.Spec.Replicas, Why: withoutNew}}), sizesBySwitch)
	p.activate(serves)
}
