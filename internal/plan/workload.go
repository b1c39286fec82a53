package plan

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// takeOver scales down the Deployment that the template comes from, as the Rollout's own pods take over its share. It never scales it back
// up: the Deployment's pods would run a template that no update has tried.
func (p *pass) takeOver() {
	ref := p.world.Rollout.Spec.WorkloadRef
	deployment, ok := p.world.Workload.(*appsv1.Deployment)
	if ref == nil || !ok || p.world.Spec.Paused || len(p.update.Problems) > 0 {
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
		target = max(0, p.world.Spec.Replicas-carried)
		why = fmt.Sprintf("%d of %d pods of the Rollout are available", carried, p.world.Spec.Replicas)
	case v1alpha1.ScaleDownOnSuccess:
		if p.update.Was.Phase != v1alpha1.RolloutPhaseHealthy || p.update.State() != progress.Settled || carried < p.world.Spec.Replicas {
			return
		}
		why = "the Rollout is healthy"
	default:
		return
	}
	if target >= have {
		return
	}
	if p.world.IsBlueGreen() && !p.world.ServicesLive { // the Deployment's pods serve until the active Service selects a version
		p.journal.Need(change.NeedLiveServices{})
		return
	}
	to := *deployment
	to.Spec.Replicas = &target
	p.draft.Shrink = append(p.draft.Shrink, change.ScaleWorkload{From: deployment, To: &to})
	p.journal.Note(change.TopicShrink, fmt.Sprintf("scale Deployment %s from %d to %d", deployment.Name, have, target), why)
}

// carried is how many pods' worth of traffic the Rollout was seen to carry.
func (p *pass) carried() int32 {
	if b, ok := p.world.Spec.Strategy.(spec.BlueGreen); ok {
		return p.world.Find(p.world.ObservedSelects(b.ActiveService)).Counts().Serving()
	}
	var n int32
	for _, v := range p.world.All() {
		n += v.Counts().Serving()
	}
	return n
}
