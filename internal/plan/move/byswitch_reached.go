package move

import (
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// noteSuperseded notes on each version that was given up before it was promoted that it was: it passes its gates again if it comes back. That is what
// the last update went to, and what is newer than the stable version, as an update that no status recorded left it: a promotion makes the newest
// revision the stable one.
func (s scene) noteSuperseded(serving string) {
	for i := range s.world.Others {
		v := &s.world.Others[i]
		newer := s.world.Stable != nil && v.Revision > s.world.Stable.Revision
		if (newer || s.update.Begun && v.Hash == s.update.Was.CurrentPodHash) && v.Desired() > 0 && v.Hash != serving {
			world.SetKey(&s.draft.Edit(v).Annotations, v1alpha1.OvertakenAnnotation, "true")
		}
	}
}

// supersede drops, without the delay, the pods of a superseded update that the Service was never switched to: nobody can roll back to a version
// that never served. If that is uncertain, the version keeps its delay.
func (p *BySwitch) supersede() {
	serving, last := p.update.Was.BlueGreen.ActiveSelector, p.world.Find(p.update.Was.CurrentPodHash)
	p.noteSuperseded(serving)
	if p.update.Begun && last.Desired() > 0 && last != p.world.New && last != p.world.Stable && last.Hash != serving &&
		!p.update.Deserted() && !p.mayHaveServed(last) {
		world.SetKey(&p.draft.Edit(last).Annotations, v1alpha1.ScaleDownDeadlineAnnotation, p.world.Second().UTC().Format(time.RFC3339))
	}
}

// mayHaveServed reports whether requests may have reached a version that was never promoted: one that was aborted may have been so after the
// switch, one that came back from an earlier revision may have served then, and one that the active Service selects was sent there by an edit, or by a
// pass that could not record its switch.
func (p *BySwitch) mayHaveServed(v *world.Version) bool {
	return v.Hash == p.world.ObservedSelects(p.bluegreen.ActiveService) || p.update.Was.Abort || p.update.Was.AbortedAt != nil || v.Annotations[v1alpha1.RevisionHistoryAnnotation] != "" || v.Delaying(p.world.Now) ||
		v.Annotations[v1alpha1.ReachedAnnotation] != ""
}

// noteReached annotates a version that the active Service is about to leave: requests have reached it. The status alone does not say so for long
// enough: an aborted update may be retried and then superseded, a manual edit may have selected the version, or a reconcile could not record
// its switch. The annotation is written before the Service leaves.
func (p *BySwitch) noteReached() {
	v := p.world.Find(p.world.ObservedSelects(p.bluegreen.ActiveService))
	recorded := v.Desired() > 0 && v != p.world.New && v.Hash == p.update.Was.BlueGreen.ActiveSelector
	if v.Desired() > 0 && v != p.world.Stable && !recorded && v.Annotations[v1alpha1.ReachedAnnotation] == "" {
		world.SetKey(&p.draft.Edit(v).Annotations, v1alpha1.ReachedAnnotation, "true")
	}
}
