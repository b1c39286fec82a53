package move

import (
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// overtake gives up at once, without the delay, what the last update brought up and never switched to: nobody can go back to
// a version that never served. Where that is not known for certain the version has its delay. It passes its gates again if it comes back.
func (p *BySwitch) overtake() {
	last := p.world.Find(p.update.Was.CurrentPodHash)
	if !p.update.Begun || last == nil || last.Desired() == 0 || last == p.world.New || last == p.world.Stable ||
		last.Hash == p.update.Was.BlueGreen.ActiveSelector {
		return
	}
	world.SetKey(&p.draft.Edit(last).Annotations, v1alpha1.OvertakenAnnotation, "true")
	if p.update.Deserted() || p.mayHaveServed(last) {
		return
	}
	world.SetKey(&p.draft.Edit(last).Annotations, v1alpha1.ScaleDownDeadlineAnnotation, p.world.Second().UTC().Format(time.RFC3339))
}

// mayHaveServed reports whether requests may have reached a version that was never promoted: one that was aborted may have been so after the
// switch, one that came back from an earlier revision may have served then, and one that the active Service selects was sent there by an edit, or by a
// pass that could not record its switch.
func (p *BySwitch) mayHaveServed(v *world.Version) bool {
	return v.Hash == p.world.ObservedSelects(p.bluegreen.ActiveService) || p.update.Was.Abort || p.update.Was.AbortedAt != nil || v.Annotations[v1alpha1.RevisionHistoryAnnotation] != "" || v.Delaying(p.world.Now) ||
		v.Annotations[v1alpha1.ReachedAnnotation] != ""
}

// noteReached notes on a version that the active Service leaves that requests have reached it, where the status does not say so for long: an aborted
// update's, which may be tried again and overtaken then; one that somebody's edit sent to, or a pass that could not record its switch. The note is
// written before the Service leaves.
func (p *BySwitch) noteReached() {
	v := p.world.Find(p.world.ObservedSelects(p.bluegreen.ActiveService))
	recorded := v.Desired() > 0 && v != p.world.New && v.Hash == p.update.Was.BlueGreen.ActiveSelector
	if v.Desired() > 0 && v != p.world.Stable && !recorded && v.Annotations[v1alpha1.ReachedAnnotation] == "" {
		world.SetKey(&p.draft.Edit(v).Annotations, v1alpha1.ReachedAnnotation, "true")
	}
}
