package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// podMeta is what a pod has besides its readiness. The maps are never changed in place: a pod shares its template's until it is
// labelled.
type podMeta struct {
	labels, annotations map[string]string
	version             string
}

func (w *World) podMeta(s *set) podMeta {
	return podMeta{labels: s.Spec.Template.Labels, annotations: s.Spec.Template.Annotations, version: w.nextVersion()}
}

// decide asks the engine, and looks at what it asks for until it asks for nothing more.
func (c *Controller) decide(o *plan.Observed) plan.Plan {
	for {
		next := c.Next(*o)
		if len(next.Needs) == 0 {
			return next
		}
		for _, need := range next.Needs {
			c.world.Look(o, need)
		}
	}
}

// Look adds to an observation what the API server says at this moment.
func (w *World) Look(o *plan.Observed, need change.Need) {
	switch n := need.(type) {
	case change.NeedPods:
		pods := []*corev1.Pod{}
		for _, s := range w.sets {
			if s.Labels[v1alpha1.PodTemplateHashLabel] != n.Hash {
				continue
			}
			for _, p := range s.pods {
				pods = append(pods, p.object(s))
			}
		}
		o.Pods = maps.Clone(o.Pods)
		if o.Pods == nil {
			o.Pods = map[string][]*corev1.Pod{}
		}
		o.Pods[n.Hash] = pods
		w.Looks++
	case change.NeedLiveServices:
		o.Services, o.ServicesLive = w.objects.services.now, true
	case change.NeedLiveRouting:
		o.Services, o.ServicesLive = w.objects.services.now, true
		o.Routes, o.RoutesLive = w.Routes(), true
	case change.NeedLiveRollout:
		o.RolloutLive = true // of one that is gone there are no views, see Delete
	case change.NeedLiveExperiment:
		o.LiveExperiment = n.Name
		o.Experiments = slices.DeleteFunc(slices.Clone(o.Experiments), func(ex *v1alpha1.Experiment) bool { return ex.Name == n.Name })
		if ex := w.Experiment(n.Name); ex != nil {
			o.Experiments = append(o.Experiments, ex)
		}
	default:
		panic(fmt.Sprintf("need of unknown kind %T", n))
	}
}

// object is a pod as the API server shows it.
func (p *pod) object(s *set) *corev1.Pod {
	ready, why := corev1.ConditionFalse, "ContainersNotReady"
	if p.ready {
		ready, why = corev1.ConditionTrue, ""
	}
	var containers []corev1.ContainerStatus
	if !p.ready && p.readyAt.IsZero() && p.since.IsZero() { // it never was ready, and never will be
		containers = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: p.name, Namespace: s.Namespace, UID: types.UID(p.name), ResourceVersion: p.version,
			Labels: p.labels, Annotations: p.annotations, CreationTimestamp: metav1.NewTime(p.created.Truncate(time.Second)),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, s.GroupVersionKind())},
		},
		Spec: s.Spec.Template.Spec,
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: containers, Conditions: []corev1.PodCondition{{
			Type: corev1.PodReady, Status: ready, Reason: why, LastTransitionTime: metav1.NewTime(p.since),
		}}},
	}
}

// PodObjects are the pods of all ReplicaSets as the API server shows them.
func (w *World) PodObjects() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, s := range w.sets {
		for _, p := range s.pods {
			pods = append(pods, p.object(s))
		}
	}
	return pods
}

// pod finds a pod by its name, and its ReplicaSet; nil if it is gone.
func (w *World) pod(name string) (*set, *pod) {
	for _, s := range w.sets {
		for _, p := range s.pods {
			if p.name == name {
				return s, p
			}
		}
	}
	return nil, nil
}
