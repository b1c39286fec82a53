package plan

import (
	"fmt"

	"github.com/sluice-delivery/sluice/internal/change"
)

// forget deletes old ReplicaSets beyond the history limit, the oldest first, as long as they have no pods.
func (p *pass) forget() {
	excess := len(p.world.Others) - p.world.Spec.RevisionHistoryLimit
	for i := len(p.world.Others) - 1; i >= 0 && excess > 0; i-- {
		v := &p.world.Others[i]
		if v.Desired() > 0 || v.Status.Replicas > 0 || v.Status.ObservedGeneration < v.Generation {
			continue
		}
		if p.draft.IsEdited(v) { // and so it will be another version of the object: the next pass deletes it
			excess--
			continue
		}
		reason := fmt.Sprintf("%d old revisions are kept", p.world.Spec.RevisionHistoryLimit)
		p.draft.Shrink = append(p.draft.Shrink, change.DeleteReplicaSet{ReplicaSet: v.ReplicaSet})
		p.journal.Note(change.TopicShrink, fmt.Sprintf("delete %s of revision %d", v.Name, v.Revision), reason)
		excess--
	}
}
