package sim

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/internal/plan"
)

// The Deployment that the Rollout may refer to is an object and nothing more: its pods are nobody's concern here.

// PutDeployment creates the Deployment, or changes it.
func (w *World) PutDeployment(change func(*appsv1.Deployment)) {
	d, is := w.Deployment().DeepCopy(), w.Deployment() != nil
	if !is {
		like := NewRollout("web", "v1", 1)
		d = &appsv1.Deployment{ObjectMeta: like.ObjectMeta}
		d.Spec = appsv1.DeploymentSpec{Replicas: like.Spec.Replicas, Selector: like.Spec.Selector, Template: like.Spec.Template}
	}
	change(d)
	if is {
		w.objects.deployments.replace(w, d, false)
	} else {
		w.objects.deployments.create(w, d)
	}
}

// Deployment is what the Rollout may refer to, nil if there is none.
func (w *World) Deployment() *appsv1.Deployment { return w.objects.deployments.first() }

// DeleteDeployment deletes it.
func (w *World) DeleteDeployment() {
	w.objects.deployments.remove(w, func(Object) bool { return true })
}

// observeWorkload is what the Rollout refers to.
func (w *World) observeWorkload(o *plan.Observed) {
	if d := w.Deployment(); d != nil && o.Rollout != nil && o.Rollout.Spec.WorkloadRef != nil {
		o.Workload = d
	}
}
