package status

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Record is what a plan writes into the Rollout: first, and seldom, Object's own fields; then the status.
type Record struct {
	// From is the Rollout as it was observed. Both writes require its resourceVersion (the second, that of the first's result).
	From *v1alpha1.Rollout
	// To is the Rollout as it should be. Only metadata.annotations, spec.replicas and status ever differ from From, with which it
	// shares the rest.
	To *v1alpha1.Rollout
	// CanWait: only counts of pods differ, and what follows from them. No decision depends on them being written, so the shell may
	// leave this record out and write what has gathered a moment later.
	CanWait bool
}

// Conclude writes down what this pass saw and decided.
func (p *Status) Conclude() {
	p.diagnosePods()
	p.draft.Collect()
	p.count()
	p.update.Is.ObservedGeneration = strconv.FormatInt(p.world.Rollout.Generation, 10)
	p.dropStaleResume()
	p.giveUp()
	p.setConditions()
	p.update.Is.Phase, p.update.Is.Message = p.phase()
	clock{p.world, p.update, p.journal}.timeUpdate()
	p.Record()
}

// Refuse records that the spec cannot be carried out, and leaves everything else as it is.
func (p *Status) Refuse(problems []spec.Problem) {
	p.update.Problems = problems
	p.update.Is.ObservedGeneration = strconv.FormatInt(p.world.Rollout.Generation, 10)
	p.setInvalidSpec()
	p.update.Is.Phase, p.update.Is.Message = p.phase()
	p.Record()
}

// count sums up the pods that exist, as the ReplicaSets report them.
func (p *Status) count() {
	s := p.update.Is
	s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas = 0, 0, 0, 0
	for _, v := range p.world.All() {
		s.Replicas += v.Status.Replicas
		s.ReadyReplicas += v.Status.ReadyReplicas
		s.AvailableReplicas += v.Status.AvailableReplicas
	}
	if p.world.New != nil {
		s.UpdatedReplicas = p.world.New.Status.Replicas
	}
	s.HPAReplicas = s.Replicas
	s.Selector = metav1.FormatLabelSelector(p.world.Spec.Selector)
	if p.world.IsBlueGreen() {
		p.countActive()
	}
}

// countActive lets a blue-green rollout speak of what serves: an autoscaler must not mistake the preview's idle pods for capacity.
func (p *Status) countActive() {
	s := p.update.Is
	s.ReadyReplicas, s.AvailableReplicas = 0, 0
	if active := p.world.Find(s.BlueGreen.ActiveSelector); active != nil {
		s.ReadyReplicas, s.AvailableReplicas = active.Status.ReadyReplicas, active.Status.AvailableReplicas
		s.HPAReplicas = active.Status.Replicas
		s.Selector = metav1.FormatLabelSelector(active.Spec.Selector)
	}
}

// dropStaleResume forgets a resume that nothing was waiting for. One that came while nothing could go on, because the ReplicaSet
// controller is behind or spec.paused is set, still counts when it can.
func (p *Status) dropStaleResume() {
	if len(p.update.Is.PauseConditions) > 0 || p.update.Was.ControllerPause && len(p.update.Was.PauseConditions) == 0 && p.draft.MayNotScale() != "" && p.update.StepRecorded() {
		return
	}
	p.update.Is.ControllerPause = false
}

// Record puts the next state of the Rollout into the plan if it differs from what was observed, or if part of the stored status could not
// be read and must be written over.
func (p *Status) Record() {
	p.update.Is.Message = clean.Text(p.update.Is.Message)
	to := *p.world.Rollout
	to.Annotations = maps.Clone(p.world.Rollout.Annotations)
	if to.Annotations == nil {
		to.Annotations = map[string]string{}
	}
	maps.Copy(to.Annotations, p.update.Annotations)
	if to.Annotations[v1alpha1.RoutesElsewhereAnnotation] == "" {
		delete(to.Annotations, v1alpha1.RoutesElsewhereAnnotation)
	}
	p.seeWorkload(to.Annotations)
	to.Status = *p.update.Is
	if p.world.Spec.ReplicasUnset {
		to.Spec.Replicas = &p.world.Spec.Replicas
	}
	own := p.world.Spec.ReplicasUnset || !maps.Equal(p.world.Rollout.Annotations, to.Annotations)
	if own || !equality.Semantic.DeepEqual(p.update.Was, p.update.Is) || len(p.world.Rollout.Unreadable.Of("status")) > 0 {
		p.Written = &Record{From: p.world.Rollout, To: &to, CanWait: !own && equality.Semantic.DeepEqual(countless(p.update.Was), countless(p.update.Is))}
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

// TellCreateFailure records that the API server did not take the new version's ReplicaSet.
func (p *Status) TellCreateFailure() {
	p.count()
	p.update.Is.ObservedGeneration = strconv.FormatInt(p.world.Rollout.Generation, 10) // or clients wait for it, and do not show the message
	p.update.Remove(v1alpha1.ConditionInvalidSpec)
	p.setAvailable()
	p.setHealthy()
	p.setReplicaFailure()

	message := clean.Text("Failed to create replica set \"" + p.world.CreateFailure.Name + "\": " + p.world.CreateFailure.Message)
	if p.update.Condition(v1alpha1.ConditionProgressing).Message != message {
		p.journal.Warn(v1alpha1.ReasonReplicaSetCreateError, "%s", message)
	}
	p.update.Set(v1alpha1.ConditionProgressing, corev1.ConditionFalse, v1alpha1.ReasonReplicaSetCreateError, message)
	p.journal.Note(change.TopicRefuse, "create "+p.world.CreateFailure.Name, p.world.CreateFailure.Message)
	p.update.Is.Phase, p.update.Is.Message = v1alpha1.RolloutPhaseDegraded, v1alpha1.ReasonReplicaSetCreateError+": "+message
	p.journal.WakeAt(p.world.Now.Add(world.CreateRetry))
	p.Record()
}

// seeWorkload notes which generation of the workload this pass went by. It is of the very object whose template it used.
func (p *Status) seeWorkload(annotations map[string]string) {
	switch {
	case p.world.Rollout.Spec.WorkloadRef == nil:
		p.update.Is.WorkloadObservedGeneration = ""
		delete(annotations, v1alpha1.WorkloadGenerationAnnotation)
	case p.world.Workload != nil:
		generation := strconv.FormatInt(p.world.Workload.GetGeneration(), 10)
		p.update.Is.WorkloadObservedGeneration = generation
		annotations[v1alpha1.WorkloadGenerationAnnotation] = generation
	}
}
