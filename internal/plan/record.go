package plan

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// conclude writes down what this pass saw and decided.
func (p *pass) conclude() {
	p.doubt()
	p.collect()
	p.count()
	p.is.ObservedGeneration = strconv.FormatInt(p.Rollout.Generation, 10)
	p.dropStaleResume()
	p.giveUp()
	p.setConditions()
	p.is.Phase, p.is.Message = p.phase()
	p.timeUpdate()
	p.record()
}

// refuse records that the spec cannot be carried out, and leaves everything else as it is.
func (p *pass) refuse(problems []spec.Problem) {
	p.problems = problems
	p.is.ObservedGeneration = strconv.FormatInt(p.Rollout.Generation, 10)
	p.setInvalidSpec()
	p.is.Phase, p.is.Message = p.phase()
	p.record()
}

// count sums up the pods that exist, as the ReplicaSets report them.
func (p *pass) count() {
	s := p.is
	s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas = 0, 0, 0, 0
	for _, v := range p.all() {
		s.Replicas += v.Status.Replicas
		s.ReadyReplicas += v.Status.ReadyReplicas
		s.AvailableReplicas += v.Status.AvailableReplicas
	}
	if p.new != nil {
		s.UpdatedReplicas = p.new.Status.Replicas
	}
	s.HPAReplicas = s.Replicas
	s.Selector = metav1.FormatLabelSelector(p.spec.Selector)
	if p.isBlueGreen() {
		p.countActive()
	}
}

// countActive lets a blue-green rollout speak of what serves: an autoscaler must not mistake the preview's idle pods for capacity.
func (p *pass) countActive() {
	s := p.is
	s.ReadyReplicas, s.AvailableReplicas = 0, 0
	if active := p.find(s.BlueGreen.ActiveSelector); active != nil {
		s.ReadyReplicas, s.AvailableReplicas = active.Status.ReadyReplicas, active.Status.AvailableReplicas
		s.HPAReplicas = active.Status.Replicas
		s.Selector = metav1.FormatLabelSelector(active.Spec.Selector)
	}
}

func (p *pass) isBlueGreen() bool {
	_, ok := p.spec.Strategy.(spec.BlueGreen)
	return ok
}

func (p *pass) isRouted() bool {
	c, ok := p.spec.Strategy.(spec.Canary)
	return ok && c.Traffic != nil
}

// dropStaleResume forgets a resume that nothing was waiting for. One that came while nothing could go on, because the ReplicaSet
// controller is behind or spec.paused is set, still counts when it can.
func (p *pass) dropStaleResume() {
	if len(p.is.PauseConditions) > 0 || p.was.ControllerPause && len(p.was.PauseConditions) == 0 && p.mayNotScale() != "" && p.updating() {
		return
	}
	p.is.ControllerPause = false
}

// updating reports whether the update goes on as it did before this pass.
func (p *pass) updating() bool {
	return p.stepRecorded() && !p.promoted() && !p.is.Abort && !p.is.PromoteFull
}

// record puts the next state of the Rollout into the plan if it differs from what was observed, or if part of the stored status could not
// be read and must be written over.
func (p *pass) record() {
	p.is.Message = clean.Text(p.is.Message)
	to := *p.Rollout
	to.Annotations = maps.Clone(p.Rollout.Annotations)
	if to.Annotations == nil {
		to.Annotations = map[string]string{}
	}
	maps.Copy(to.Annotations, p.annotations)
	if to.Annotations[v1alpha1.RoutesElsewhereAnnotation] == "" {
		delete(to.Annotations, v1alpha1.RoutesElsewhereAnnotation)
	}
	p.seeWorkload(to.Annotations)
	to.Status = *p.is
	if p.spec.ReplicasUnset {
		to.Spec.Replicas = &p.spec.Replicas
	}
	own := p.spec.ReplicasUnset || !maps.Equal(p.Rollout.Annotations, to.Annotations)
	if own || !equality.Semantic.DeepEqual(p.was, p.is) || len(p.Rollout.Unreadable.Of("status")) > 0 {
		p.written = &Record{From: p.Rollout, To: &to, CanWait: !own && equality.Semantic.DeepEqual(countless(p.was), countless(p.is))}
	}
}

// countless is a status without the counts of pods and what follows from them alone.
func countless(s *v1alpha1.RolloutStatus) *v1alpha1.RolloutStatus {
	s = s.DeepCopy()
	s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas, s.HPAReplicas = 0, 0, 0, 0, 0
	s.Message = ""
	for i, c := range s.Conditions {
		if c.Type == v1alpha1.ConditionProgressing && c.Status != corev1.ConditionFalse {
			s.Conditions[i] = v1alpha1.RolloutCondition{Type: c.Type} // that something moves; that it holds has a field of its own
		}
	}
	return s
}

// revision is the current version's revision.
func (p *pass) revision() string { return p.annotations[v1alpha1.RevisionAnnotation] }

// tellCreateFailure records that the API server did not take the new version's ReplicaSet.
func (p *pass) tellCreateFailure() {
	p.count()
	p.is.ObservedGeneration = strconv.FormatInt(p.Rollout.Generation, 10) // or clients wait for it, and do not show the message
	p.remove(v1alpha1.ConditionInvalidSpec)
	p.setAvailable()
	p.setHealthy()
	p.setReplicaFailure()

	message := clean.Text("Failed to create replica set \"" + p.CreateFailure.Name + "\": " + p.CreateFailure.Message)
	if p.condition(v1alpha1.ConditionProgressing).Message != message {
		p.Warn(v1alpha1.ReasonReplicaSetCreateError, "%s", message)
	}
	p.set(v1alpha1.ConditionProgressing, corev1.ConditionFalse, v1alpha1.ReasonReplicaSetCreateError, message)
	p.Note(change.TopicRefuse, "create "+p.CreateFailure.Name, p.CreateFailure.Message)
	p.is.Phase, p.is.Message = v1alpha1.RolloutPhaseDegraded, v1alpha1.ReasonReplicaSetCreateError+": "+message
	p.WakeAt(p.Now.Add(createRetry))
	p.record()
}
