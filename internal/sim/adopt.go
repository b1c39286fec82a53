package sim

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/internal/plan"
)

// Adopt begins an empty world at the time of an observation, with the objects that were observed: they keep their names, UIDs, generations,
// and times. Pods exist as the ReplicaSets report them; those that are not ready become ready after [Options.PodStart].
func (w *World) Adopt(o plan.Observed) {
	w.now, w.Policy = o.Now, o.Policy
	adopt(w, &w.objects.rollouts, o.Rollout)
	if d, ok := o.Workload.(*appsv1.Deployment); ok {
		adopt(w, &w.objects.deployments, d)
	}
	adopt(w, &w.objects.services, servicesOf(o)...)
	for _, route := range o.Routes {
		if route != nil {
			adopt(w, &w.objects.routes, route)
		}
	}
	adopt(w, &w.objects.experiments, o.Experiments...)
	adopt(w, &w.objects.runs, o.AnalysisRuns...)
	w.PutTemplates(o.Templates)
	adopt(w, &w.objects.replicaSets, slices.Concat(o.ReplicaSets, o.ExperimentSets)...)
	for _, s := range w.sets {
		w.populate(s)
	}
}

func adopt[T Object](w *World, c *collection[T], all ...T) {
	next := slices.Clone(c.now)
	for _, o := range all {
		o = o.DeepCopyObject().(T)
		o.SetResourceVersion(w.nextVersion()) // theirs and the world's own could be equal by chance
		next = append(next, o)
	}
	c.keep(w, next, nil, nil)
}

// servicesOf are the Services of the Rollout and of its Experiment, each once.
func servicesOf(o plan.Observed) []*corev1.Service {
	all := slices.Clone(o.Services)
	for _, s := range o.ExperimentServices {
		if !slices.ContainsFunc(all, func(have *corev1.Service) bool { return have.Name == s.Name }) {
			all = append(all, s)
		}
	}
	return all
}

// populate gives a set the pods that its status reports.
func (w *World) populate(s *set) {
	for i := range int(s.Status.Replicas) {
		w.addPod(s)
		p := s.pods[i]
		switch {
		case i < int(s.Status.AvailableReplicas):
			p.ready, p.created, p.since, p.readyAt = true, s.CreationTimestamp.Time, w.now.Add(-s.minReady()), time.Time{}
		case i < int(s.Status.ReadyReplicas):
			p.ready, p.since, p.readyAt = true, w.now, time.Time{}
		}
	}
	w.wakeSet(s)
}
