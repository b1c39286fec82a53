package plan

import (
	"fmt"

	"github.com/sluice-delivery/sluice/internal/change"
)

// forget deletes old ReplicaSets beyond the history limit, the oldest first, as long as they have no pods.
func (p *pass) forget() {
	excess := len(p.others) - p.spec.RevisionHistoryLimit
	for i := len(p.others) - 1; i >= 0 && excess > 0; i-- {
		v := &p.others[i]
		if v.desired() > 0 || v.Status.Replicas > 0 || v.Status.ObservedGeneration < v.Generation {
			continue
		}
		if p.isEdited(v) { // and so it will be another version of the object: the next pass deletes it
			excess--
			continue
		}
		reason := fmt.Sprintf("%d old revisions are kept", p.spec.RevisionHistoryLimit)
		p.shrink = append(p.shrink, change.DeleteReplicaSet{ReplicaSet: v.ReplicaSet, Reason: reason})
		p.Note(change.TopicShrink, fmt.Sprintf("delete %s of revision %d", v.Name, v.revision), reason)
		excess--
	}
}
