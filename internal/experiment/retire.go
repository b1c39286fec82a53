package experiment

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// routedAgain is when to check the Rollout again whose routers still send traffic to pods that will be deleted.
const routedAgain = time.Second

// routed reports whether the traffic routers of the Rollout whose step this is may still send to a ReplicaSet's pods. To whom they do is in
// the Rollout's status, without a weight before they do and with it until they do not, and asked of the API server itself: a cache may
// show last minute's.
func (p *pass) routed(set *appsv1.ReplicaSet) bool {
	owner := metav1.GetControllerOfNoCopy(p.Experiment)
	if owner == nil || owner.Kind != v1alpha1.KindRollout {
		return false
	}
	if !p.RolloutRead {
		p.plan.NeedsRollout = true
		return true
	}
	if p.Rollout == nil || p.Rollout.UID != owner.UID || p.Rollout.Status.Canary.Weights == nil {
		return false
	}
	for _, d := range p.Rollout.Status.Canary.Weights.Additional {
		if d.PodTemplateHash == set.Labels[v1alpha1.PodTemplateHashLabel] {
			return true
		}
	}
	return false
}

// retire takes the pods of all templates away, and the Services that have none any more.
func (p *pass) retire() { p.retireSets("the Experiment has ended", func(string) bool { return true }) }

// retireLeftovers does the same for templates that the spec does not have any more.
func (p *pass) retireLeftovers() {
	p.retireSets("the spec does not have the template any more", func(name string) bool {
		for _, t := range p.templates {
			if t.Name == name {
				return false
			}
		}
		return true
	})
}

func (p *pass) retireSets(reason string, these func(template string) bool) {
	sets := map[string]*appsv1.ReplicaSet{}
	for _, s := range p.Services { // those whose ReplicaSet someone deleted
		if name := s.Annotations[v1alpha1.ExperimentTemplateNameAnnotation]; these(name) {
			sets[name] = nil
		}
	}
	for _, set := range p.ReplicaSets {
		name := set.Annotations[v1alpha1.ExperimentTemplateNameAnnotation]
		if set.DeletionTimestamp != nil || !these(name) {
			continue
		}
		sets[name] = set
		p.retireSet(set, reason)
	}
	p.dropServices(sets)
}

// retireSet takes a ReplicaSet's pods away once the delay has passed since it was first found to be of no use. A delay of zero
// overrules a deadline that was given before.
func (p *pass) retireSet(set *appsv1.ReplicaSet, reason string) {
	if desired(set) == 0 {
		return
	}
	to := set.DeepCopy()
	deadline := spec.ScaleDownDeadline(set)
	switch {
	case p.spec.ScaleDownDelay == 0:
		deadline = p.Now
	case deadline.IsZero():
		deadline = p.nowOrLater().Add(p.spec.ScaleDownDelay)
		if to.Annotations == nil {
			to.Annotations = map[string]string{}
		}
		to.Annotations[v1alpha1.ScaleDownDeadlineAnnotation] = deadline.UTC().Format(time.RFC3339)
		p.plan.Grow = append(p.plan.Grow, change.UpdateReplicaSet{From: set, To: to})
	}
	if p.Now.Before(deadline) {
		p.journal.WakeAt(deadline)
		p.journal.Note(change.TopicWait, fmt.Sprintf("%s keeps its pods until %s", set.Name, deadline.UTC().Format(time.RFC3339)), reason)
		return
	}
	if p.routed(set) {
		p.journal.Note(change.TopicWait, set.Name+" keeps its pods", "the Rollout's routers may still send to them")
		p.journal.WakeAt(p.Now.Add(routedAgain))
		return
	}
	to.Spec.Replicas = new(int32)
	delete(to.Annotations, v1alpha1.ScaleDownDeadlineAnnotation)
	p.plan.Shrink = append(p.plan.Shrink, change.UpdateReplicaSet{From: set, To: to})
	p.tellScale(set.Name, desired(set), 0, reason)
}
