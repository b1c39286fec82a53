package plan

import (
	"fmt"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// The active Service selects the version that ought to serve. Which one that is follows from what the status records and from the pods that
// there are, never from what the Service happens to select: an edit passes no gate, and what it sends to has no claim.

// third is the version that the active Service was left with where that is neither the new nor the stable one.
func (p *pass) third() *version {
	for i := range p.others {
		if active := p.was.BlueGreen.ActiveSelector; active != "" && p.others[i].hash == active {
			return &p.others[i]
		}
	}
	return nil
}

// deserted reports whether what served is gone, because somebody has deleted its ReplicaSet.
func (p *pass) deserted() bool { return !p.promoted() && p.stable == nil && p.third() == nil }

// remaining is the version that serves where what served is gone: the newest one that has a pod.
func (p *pass) remaining() *version {
	for _, v := range p.all() {
		if v.certain() > 0 {
			return v
		}
	}
	return p.new
}

// serves is the version that the active Service should select now, and why. The new one may take over once its gates are passed.
func (p *pass) serves(b spec.BlueGreen, passed bool) (v *version, why string) {
	switch {
	case p.promoted():
		return p.new, "it is the stable version"
	case passed && p.canTakeOver(b):
		return p.new, "the new version is ready"
	}
	return p.servesStill()
}

// servesStill is the version that the active Service should select while the new one may not take over, and why.
func (p *pass) servesStill() (v *version, why string) {
	third := p.third()
	switch {
	case p.is.Abort && p.stable != nil:
		return p.stable, "the update was aborted"
	case third != nil && (third.fleet().serving() > 0 || p.stable.fleet().serving() == 0):
		return third, "it has served until now"
	case p.stable != nil:
		return p.stable, "it has served until now"
	}
	return p.remaining(), p.whyGone()
}

// whyGone says that there is nothing to go back to.
func (p *pass) whyGone() string {
	return fmt.Sprintf("the ReplicaSet of the stable version %s is gone", p.is.StableRS)
}

// enough is how many available pods a version needs to take everything over.
func (p *pass) enough(b spec.BlueGreen) int32 {
	return leastOf(p.spec.Replicas, b.MaxUnavailable)
}

// leastOf is how many of n pods must be available where so many may be missing: one at the least.
func leastOf(n, unavailable int32) int32 { return max(min(1, n), n-unavailable) }

// canTakeOver reports whether the new version serves already and has a pod for that, or has all that it needs.
func (p *pass) canTakeOver(b spec.BlueGreen) bool {
	if p.new == nil {
		return false
	}
	if p.was.BlueGreen.ActiveSelector == p.is.CurrentPodHash {
		return p.staying(p.new) >= min(1, p.spec.Replicas)
	}
	return !p.new.stale() && p.staying(p.new) >= p.enough(b)
}

// claim is how many available pods the active Service must find at a version before it is pointed there: as many as the one that serves now
// still has. Where nobody serves, or only what somebody's edit sends to, the first pod will do, and nothing is at stake. A Service that has
// never been this Rollout's may send to pods of others until now.
func (p *pass) claim(b spec.BlueGreen) (needed int32, atStake bool) {
	recorded, leaving := p.was.BlueGreen.ActiveSelector, p.find(p.selects(b.ActiveService))
	switch {
	case recorded == "" && leaving == nil:
		return p.enough(b), true
	case leaving == nil || recorded != "" && leaving.hash != recorded:
		return min(1, p.spec.Replicas), false
	}
	return min(p.enough(b), max(1, leaving.fleet().available)), true
}

// activate points the active Service at a version, in one write, and reports whether it selects that by now.
func (p *pass) activate(b spec.BlueGreen, v *version, reason string) bool {
	if v == nil {
		p.Note(change.TopicWait, "the switch of the active service", "the ReplicaSet is not there yet")
		return false
	}
	if p.selects(b.ActiveService) == v.hash {
		p.point(b.ActiveService, v.hash, reason)
		return true
	}
	needed, atStake := p.claim(b)
	if have := p.staying(v); have < needed || v.stale() && atStake {
		p.Note(change.TopicWait, "the switch of the active service to "+v.hash, fmt.Sprintf("%d of %d pods available", have, needed))
		return false
	}
	p.noteReached(b)
	p.point(b.ActiveService, v.hash, reason)
	return true
}

// noteReached notes on a version that the active Service leaves that requests have reached it, where the status does not say so: somebody's
// edit sent there, or a pass that could not record its switch. The note is written before the Service leaves.
func (p *pass) noteReached(b spec.BlueGreen) {
	v := p.find(p.observedSelects(b.ActiveService))
	if v.desired() > 0 && v != p.stable && v.hash != p.was.BlueGreen.ActiveSelector && v.Annotations[v1alpha1.ReachedAnnotation] == "" {
		setKey(&p.edit(v).Annotations, v1alpha1.ReachedAnnotation, "true")
	}
}
