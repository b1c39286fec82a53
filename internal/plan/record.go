package plan

import (
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// conclude writes down what this pass saw and decided.
func (p *pass) conclude() {
	p.collect()
	p.count()
	p.is.ObservedGeneration = strconv.FormatInt(p.Rollout.Generation, 10)
	p.dropStaleResume()
	p.setConditions()
	p.is.Phase, p.is.Message = p.phase()
	p.timeUpdate()
	p.record()
}

// refuse records that the spec cannot be carried out, and leaves everything else as it is.
func (p *pass) refuse(problems []spec.Problem) {
	texts := make([]string, len(problems))
	for i, problem := range problems {
		texts[i] = problem.String()
		p.note(TopicRefuse, problem.Field, problem.Text)
	}
	message := `The Rollout "` + p.Rollout.Name + `" is invalid: ` + strings.Join(texts, "; ")
	if p.condition(v1alpha1.ConditionInvalidSpec).Message != message {
		p.warn(v1alpha1.ReasonInvalidSpec, "%s", message)
	}
	p.is.ObservedGeneration = strconv.FormatInt(p.Rollout.Generation, 10)
	p.setTrue(v1alpha1.ConditionInvalidSpec, v1alpha1.ReasonInvalidSpec, message)
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
}

// dropStaleResume forgets a resume that no pause step was waiting for.
func (p *pass) dropStaleResume() {
	if len(p.is.PauseConditions) == 0 {
		p.is.ControllerPause = false
	}
}

// record puts the next state of the Rollout into the plan if it differs from what was observed.
func (p *pass) record() {
	to := p.Rollout.DeepCopy()
	to.Status = *p.is
	if len(p.annotations) > 0 && to.Annotations == nil {
		to.Annotations = map[string]string{}
	}
	maps.Copy(to.Annotations, p.annotations)
	if p.spec.ReplicasUnset {
		to.Spec.Replicas = &p.spec.Replicas
	}
	if !equality.Semantic.DeepEqual(p.Rollout, to) {
		p.plan.Record = &Record{From: p.Rollout, To: to}
	}
}

// revision is the current version's revision.
func (p *pass) revision() string { return p.annotations[v1alpha1.RevisionAnnotation] }
