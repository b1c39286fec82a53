package plan

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
)

// adopts reports whether this reconcile adopts ReplicaSets that have no controller: a Rollout that was deleted with --cascade=orphan
// leaves them, and one that is created again with the same name finds them. Their pods count, so nothing else is decided first.
//
// A Rollout that is being deleted must not adopt: the garbage collector deletes what it owns, with the pods. A cache may not show the
// deletion yet.
func (p *pass) adopts() bool {
	orphans := p.orphans()
	if len(orphans) == 0 {
		return false
	}
	if !p.world.RolloutLive {
		p.journal.Need(change.NeedLiveRollout{})
		return true
	}
	for _, rs := range orphans {
		const reason = "it has no controller, and its pods match this Rollout's selector"
		to := rs.DeepCopy()
		to.OwnerReferences = append(to.OwnerReferences, *metav1.NewControllerRef(p.world.Rollout, v1alpha1.RolloutGVK))
		p.draft.Grow = append(p.draft.Grow, change.UpdateReplicaSet{From: rs, To: to})
		p.journal.Note(change.TopicUpdate, "adopt "+rs.Name, reason)
	}
	return true
}

// orphans are the ReplicaSets without a controller whose pods the spec selects, the first by name first. Those of an Experiment are not
// among them, whatever their labels.
func (p *pass) orphans() []*appsv1.ReplicaSet {
	selector, err := metav1.LabelSelectorAsSelector(p.world.Spec.Selector)
	if err != nil || selector.Empty() {
		return nil
	}
	var ours []*appsv1.ReplicaSet
	for _, rs := range p.world.Orphans {
		_, ofExperiment := rs.Annotations[v1alpha1.ExperimentNameAnnotation]
		if rs.DeletionTimestamp == nil && !ofExperiment && selector.Matches(labels.Set(rs.Labels)) {
			ours = append(ours, rs)
		}
	}
	slices.SortFunc(ours, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(a.Name, b.Name) })
	return ours
}
