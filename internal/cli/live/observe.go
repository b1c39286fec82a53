package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

var (
	services     = corev1.SchemeGroupVersion.WithResource("services")
	deployments  = appsv1.SchemeGroupVersion.WithResource("deployments")
	podTemplates = corev1.SchemeGroupVersion.WithResource("podtemplates")

	horizontalPodAutoscalers = autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
)

// policyFor is what the controller's operator seems to allow, which no object tells: whatever the Rollout asks for, unless the controller has
// refused its spec.
func policyFor(ro *v1alpha1.Rollout) spec.Policy {
	for _, c := range ro.Status.Conditions {
		if c.Type == v1alpha1.ConditionInvalidSpec && c.Status == corev1.ConditionTrue {
			return spec.Policy{}
		}
	}
	return spec.AllowAll()
}

// Observe reads all that the engine's decisions about a Rollout depend on. The controller reads the same from its caches; here everything
// comes from the API server, so nothing need be read again before pods go.
func (c Client) Observe(ctx context.Context, name string, now time.Time) (plan.Observed, error) {
	ro, err := c.Rollout(ctx, name)
	if err != nil {
		return plan.Observed{}, err
	}
	o := plan.Observed{Now: now, Policy: policyFor(ro), Rollout: ro, ServicesLive: true, RoutesLive: true, Templates: analysis.Templates{}}
	versioned := metav1.ListOptions{LabelSelector: v1alpha1.PodTemplateHashLabel}
	if o.ReplicaSets, err = listed[appsv1.ReplicaSet](ctx, c, ReplicaSets, versioned); err != nil {
		return plan.Observed{}, err
	}
	sets := o.ReplicaSets
	o.ReplicaSets = controlled(slices.Clone(sets), ro)
	if o.AnalysisRuns, err = listed[v1alpha1.AnalysisRun](ctx, c, AnalysisRuns, metav1.ListOptions{}); err != nil {
		return plan.Observed{}, err
	}
	o.AnalysisRuns = controlled(o.AnalysisRuns, ro)
	if o.Experiments, err = listed[v1alpha1.Experiment](ctx, c, Experiments, metav1.ListOptions{}); err != nil {
		return plan.Observed{}, err
	}
	o.Experiments = controlled(o.Experiments, ro)
	if err := c.observeExperiment(ctx, &o, sets); err != nil {
		return plan.Observed{}, err
	}
	if err := c.AddTemplates(ctx, o.Templates, analysis.References(ro)...); err != nil {
		return plan.Observed{}, err
	}
	if o.Services, err = c.servicesOf(ctx, ro); err != nil {
		return plan.Observed{}, err
	}
	if o.Policy.Selected, err = c.selected(ctx, ro); err != nil {
		return plan.Observed{}, err
	}
	if o.Routes, err = c.routesOf(ctx, ro, o.Policy.Selected); err != nil {
		return plan.Observed{}, err
	}
	return o, c.observeWorkload(ctx, &o)
}

// observeExperiment adds what the Experiment of the current step controls.
func (c Client) observeExperiment(ctx context.Context, o *plan.Observed, sets []*appsv1.ReplicaSet) error {
	i := slices.IndexFunc(o.Experiments, func(ex *v1alpha1.Experiment) bool { return ex.Name == o.Rollout.Status.Canary.CurrentExperiment })
	if i < 0 {
		return nil
	}
	all, err := listed[corev1.Service](ctx, c, services, metav1.ListOptions{})
	if err != nil {
		return err
	}
	o.ExperimentSets, o.ExperimentServices = controlled(sets, o.Experiments[i]), controlled(all, o.Experiments[i])
	return nil
}

// routesOf reads the objects of the Rollout's traffic routers, as far as they exist, and those that the controller could not release.
func (c Client) routesOf(ctx context.Context, ro *v1alpha1.Rollout, selected []spec.SelectedObject) (traffic.Objects, error) {
	found := traffic.Objects{}
	for _, ref := range routers.RefsWith(ro, spec.Policy{Selected: selected}) {
		object, err := c.Resource(resourceOf(ref.GroupVersionKind)).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, err
		default:
			found[ref.Key()] = object
		}
	}
	return found, c.addUnreleased(ctx, ro, found)
}

// selected are the objects that the Rollout's traffic routers find by labels.
func (c Client) selected(ctx context.Context, ro *v1alpha1.Rollout) ([]spec.SelectedObject, error) {
	var all []spec.SelectedObject
	for _, s := range routers.Selections(ro) {
		list, err := c.Resource(resourceOf(s.GroupVersionKind)).Namespace(s.Namespace).List(ctx, metav1.ListOptions{LabelSelector: s.Selector.String()})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, routers.Select([]traffic.Selection{s}, func(yield func(*unstructured.Unstructured) bool) {
			for i := range list.Items {
				if !yield(&list.Items[i]) {
					return
				}
			}
		})...)
	}
	return all, nil
}

// addUnreleased adds the objects of the namespace that hold something of the Rollout still, where its condition says that there are some. A
// kind that the cluster does not have, or that may not be read, has none.
func (c Client) addUnreleased(ctx context.Context, ro *v1alpha1.Rollout, found traffic.Objects) error {
	if !slices.ContainsFunc(ro.Status.Conditions, func(c v1alpha1.RolloutCondition) bool {
		return c.Type == v1alpha1.ConditionRouteReleaseFailure && c.Status == corev1.ConditionTrue
	}) {
		return nil
	}
	owner := types.NamespacedName{Namespace: ro.Namespace, Name: ro.Name}
	for _, gvk := range routers.Kinds() {
		all, err := c.Resource(resourceOf(gvk)).Namespace(ro.Namespace).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return err
		}
		for i := range all.Items {
			if o := &all.Items[i]; slices.Contains(routers.Owners(o, policyFor(ro)), owner) {
				found[traffic.KeyOf(o)] = o
			}
		}
	}
	return nil
}

// resourceOf is the resource of a kind of routes. All of them have regular plurals.
func resourceOf(gvk schema.GroupVersionKind) schema.GroupVersionResource {
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return resource
}

func controlled[T metav1.Object](all []T, owner metav1.Object) []T {
	return slices.DeleteFunc(all, func(obj T) bool { return !metav1.IsControlledBy(obj, owner) })
}

// servicesOf reads the Services that the Rollout names, or that are marked as its own.
func (c Client) servicesOf(ctx context.Context, ro *v1alpha1.Rollout) ([]*corev1.Service, error) {
	all, err := listed[corev1.Service](ctx, c, services, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	named := spec.Services(ro)
	return slices.DeleteFunc(all, func(s *corev1.Service) bool {
		return s.Annotations[v1alpha1.ManagedByAnnotation] != ro.Name &&
			!slices.ContainsFunc(named, func(r spec.Reference) bool { return r.Name == s.Name })
	}), nil
}

// Autoscalers reads the HorizontalPodAutoscalers of the namespace.
func (c Client) Autoscalers(ctx context.Context) ([]*autoscalingv2.HorizontalPodAutoscaler, error) {
	return listed[autoscalingv2.HorizontalPodAutoscaler](ctx, c, horizontalPodAutoscalers, metav1.ListOptions{})
}

// observeWorkload reads what the Rollout's workloadRef refers to. That there is none is the engine's business.
func (c Client) observeWorkload(ctx context.Context, o *plan.Observed) error {
	ref := o.Rollout.Spec.WorkloadRef
	if ref == nil {
		return nil
	}
	kind, _ := spec.WorkloadKind(ref) // the engine reports other kinds
	var err error
	switch kind {
	case spec.Deployment:
		err = setWorkload[appsv1.Deployment](ctx, c, o, deployments)
	case spec.ReplicaSet:
		err = setWorkload[appsv1.ReplicaSet](ctx, c, o, ReplicaSets)
	case spec.PodTemplate:
		err = setWorkload[corev1.PodTemplate](ctx, c, o, podTemplates)
	}
	return err
}

func setWorkload[T any, O interface {
	*T
	metav1.Object
}](ctx context.Context, c Client, o *plan.Observed, resource schema.GroupVersionResource) error {
	u, err := c.Resource(resource).Namespace(c.Namespace).Get(ctx, o.Rollout.Spec.WorkloadRef.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	workload, err := typed[T](u)
	if err != nil {
		return err
	}
	o.Workload = O(workload)
	return nil
}

// Look adds to what was observed what the engine asks for.
func (c Client) Look(ctx context.Context, o *plan.Observed, need change.Need) error {
	switch n := need.(type) {
	case change.NeedLiveServices:
		o.ServicesLive = true // they are, see Observe
	case change.NeedLiveRouting:
		o.ServicesLive, o.RoutesLive = true, true
	case change.NeedLiveRollout:
		o.RolloutLive = true
	case change.NeedLiveExperiment:
		o.LiveExperiment = n.Name // one that the course ahead would create is not in the cluster yet
	case change.NeedPods:
		return c.lookAtPods(ctx, o, n.Hash)
	default:
		panic(fmt.Sprintf("need of unknown kind %T", need)) // the sum is closed
	}
	return nil
}

// lookAtPods reads the pods of one version.
func (c Client) lookAtPods(ctx context.Context, o *plan.Observed, hash string) error {
	all, err := listed[corev1.Pod](ctx, c, Pods, metav1.ListOptions{LabelSelector: v1alpha1.PodTemplateHashLabel + "=" + hash})
	if err != nil {
		return err
	}
	ours := slices.DeleteFunc(all, func(p *corev1.Pod) bool {
		return !slices.ContainsFunc(o.ReplicaSets, func(rs *appsv1.ReplicaSet) bool { return metav1.IsControlledBy(p, rs) })
	})
	seen := map[string][]*corev1.Pod{hash: ours}
	for other, of := range o.Pods {
		if other != hash {
			seen[other] = of
		}
	}
	o.Pods = seen
	return nil
}
