package bluegreen

import (
	"fmt"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// serves is the version that the active Service should select now, and why. The new one may take over once its gates are passed.
func (p *BlueGreen) serves(b spec.BlueGreen, passed bool) (v *world.Version, why string) {
	switch {
	case p.update.State() == progress.Settled:
		return p.world.New, "it is the stable version"
	case passed && p.canTakeOver(b):
		return p.world.New, "the new version is ready"
	}
	return p.servesStill()
}

// servesStill is the version that the active Service should select while the new one may not take over, and why.
func (p *BlueGreen) servesStill() (v *world.Version, why string) {
	third := p.update.Third()
	switch {
	case p.update.State() == progress.Aborted && p.world.Stable != nil:
		return p.world.Stable, "the update was aborted"
	case third != nil && third.Desired() == 0 && p.world.Stable == nil && p.world.Remaining().Certain() > 0: // it is to have no pods, and others do
		return p.world.Remaining(), p.update.WhyGone()
	case third != nil && (third.Fleet().Serving() > 0 || p.world.Stable.Fleet().Serving() == 0):
		return third, "it has served until now"
	case p.world.Stable != nil:
		return p.world.Stable, "it has served until now"
	}
	return p.world.Remaining(), p.update.WhyGone()
}

// enough is how many available pods a version needs to take everything over.
func (p *BlueGreen) enough(b spec.BlueGreen) int32 {
	return capacity.LeastOf(p.world.Spec.Replicas, b.MaxUnavailable)
}

// canTakeOver reports whether the new version serves already and has a pod for that, or has all that it needs.
func (p *BlueGreen) canTakeOver(b spec.BlueGreen) bool {
	if p.world.New == nil {
		return false
	}
	if p.update.Was.BlueGreen.ActiveSelector == p.update.Is.CurrentPodHash {
		return p.draft.Staying(p.world.New) >= min(1, p.world.Spec.Replicas)
	}
	return !p.world.New.Stale() && p.draft.Staying(p.world.New) >= p.enough(b)
}

// claim is how many available pods the active Service must find at a version before it is pointed there: as many as the one that serves now
// still has. Where nobody serves, or only what somebody's edit sends to, the first pod will do, and nothing is at stake. A Service that has
// never been this Rollout's may send to pods of others until now.
func (p *BlueGreen) claim(b spec.BlueGreen) (needed int32, atStake bool) {
	recorded, leaving := p.update.Was.BlueGreen.ActiveSelector, p.world.Find(p.draft.Selects(b.ActiveService))
	switch {
	case recorded == "" && leaving == nil:
		return p.enough(b), true
	case leaving == nil || recorded != "" && leaving.Hash != recorded:
		return min(1, p.world.Spec.Replicas), false
	}
	return min(p.enough(b), max(1, leaving.Fleet().Available)), true
}

// activate points the active Service at a version, in one write, and reports whether it selects that by now.
func (p *BlueGreen) activate(b spec.BlueGreen, v *world.Version, reason string) bool {
	if v == nil {
		p.journal.Note(change.TopicWait, "the switch of the active service", "the ReplicaSet is not there yet")
		return false
	}
	if p.draft.Selects(b.ActiveService) == v.Hash {
		p.draft.Point(b.ActiveService, v.Hash, reason)
		return true
	}
	needed, atStake := p.claim(b)
	if have := p.draft.Staying(v); have < needed || v.Stale() && atStake {
		p.journal.Note(change.TopicWait, "the switch of the active service to "+v.Hash, fmt.Sprintf("%d of %d pods available", have, needed))
		return false
	}
	p.noteReached(b)
	p.draft.Point(b.ActiveService, v.Hash, reason)
	return true
}

// noteReached notes on a version that the active Service leaves that requests have reached it, where the status does not say so: somebody's
// edit sent there, or a pass that could not record its switch. The note is written before the Service leaves.
func (p *BlueGreen) noteReached(b spec.BlueGreen) {
	v := p.world.Find(p.world.ObservedSelects(b.ActiveService))
	if v.Desired() > 0 && v != p.world.Stable && v.Hash != p.update.Was.BlueGreen.ActiveSelector && v.Annotations[v1alpha1.ReachedAnnotation] == "" {
		world.SetKey(&p.draft.Edit(v).Annotations, v1alpha1.ReachedAnnotation, "true")
	}
}
