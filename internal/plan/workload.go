package plan

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// seeWorkload notes which generation of the workload this pass went by. It is of the very object whose template it used.
func (p *pass) seeWorkload(annotations map[string]string) {
	switch {
	case p.Rollout.Spec.WorkloadRef == nil:
		p.is.WorkloadObservedGeneration = ""
		delete(annotations, v1alpha1.WorkloadGenerationAnnotation)
	case p.Workload != nil:
		generation := strconv.FormatInt(p.Workload.GetGeneration(), 10)
		p.is.WorkloadObservedGeneration = generation
		annotations[v1alpha1.WorkloadGenerationAnnotation] = generation
	}
}

// takeOver takes away the pods of the Deployment that the template comes from, as the Rollout's own come to carry what they
// carried. It never gives any back: the Deployment's pods would be of a template that no update has tried.
func (p *pass) takeOver() {
	ref := p.Rollout.Spec.WorkloadRef
	deployment, ok := p.Workload.(*appsv1.Deployment)
	if ref == nil || !ok || p.spec.Paused || len(p.problems) > 0 {
		return
	}
	have := int32(1) // as Kubernetes reads a number that is not there
	if deployment.Spec.Replicas != nil {
		have = *deployment.Spec.Replicas
	}
	var target int32
	var why string
	switch carried := p.carried(); ref.ScaleDown {
	case v1alpha1.ScaleDownProgressively:
		target = max(0, p.spec.Replicas-carried)
		why = fmt.Sprintf("%d of %d pods of the Rollout are available", carried, p.spec.Replicas)
	case v1alpha1.ScaleDownOnSuccess:
		if p.was.Phase != v1alpha1.RolloutPhaseHealthy || !p.promoted() || carried < p.spec.Replicas {
			return
		}
		why = "the Rollout is healthy"
	default:
		return
	}
	if target >= have {
		return
	}
	if p.isBlueGreen() && !p.ServicesLive { // the Deployment's pods serve until the active Service selects a version
		p.Need(change.NeedLiveServices{})
		return
	}
	to := *deployment
	to.Spec.Replicas = &target
	p.shrink = append(p.shrink, change.ScaleWorkload{From: deployment, To: &to, Reason: why})
	p.Note(change.TopicShrink, fmt.Sprintf("scale Deployment %s from %d to %d", deployment.Name, have, target), why)
}

// carried is how many pods' worth of traffic the Rollout was seen to carry.
func (p *pass) carried() int32 {
	if b, ok := p.spec.Strategy.(spec.BlueGreen); ok {
		return p.find(p.observedSelects(b.ActiveService)).fleet().serving()
	}
	var n int32
	for _, v := range p.all() {
		n += v.fleet().serving()
	}
	return n
}
