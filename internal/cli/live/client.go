package live

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/dynamic"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric/kubernetes"
	"github.com/sluice-delivery/sluice/internal/view"
)

// The resources that commands are about.
var (
	Rollouts     = v1alpha1.GroupVersion.WithResource("rollouts")
	Experiments  = v1alpha1.GroupVersion.WithResource("experiments")
	AnalysisRuns = v1alpha1.GroupVersion.WithResource("analysisruns")

	AnalysisTemplates        = v1alpha1.GroupVersion.WithResource("analysistemplates")
	ClusterAnalysisTemplates = v1alpha1.GroupVersion.WithResource("clusteranalysistemplates")

	ReplicaSets = appsv1.SchemeGroupVersion.WithResource("replicasets")
	Pods        = corev1.SchemeGroupVersion.WithResource("pods")
)

// Client is access to one namespace of a cluster. The dynamic client keeps the binary a quarter of the size that typed ones of all
// of Kubernetes would give it.
type Client struct {
	dynamic.Interface
	Namespace string
	// Metrics is where the metrics APIs of the cluster are.
	Metrics kubernetes.Cluster
}

// Rollouts are the Rollouts of the namespace.
func (c Client) Rollouts() dynamic.ResourceInterface {
	return c.Resource(Rollouts).Namespace(c.Namespace)
}

// Rollout reads one Rollout.
func (c Client) Rollout(ctx context.Context, name string) (*v1alpha1.Rollout, error) {
	u, err := c.Rollouts().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return typed[v1alpha1.Rollout](u)
}

// RolloutList reads all Rollouts of the namespace.
func (c Client) RolloutList(ctx context.Context) ([]*v1alpha1.Rollout, error) {
	return listed[v1alpha1.Rollout](ctx, c, Rollouts, metav1.ListOptions{})
}

// Names reads the names of all objects of a resource in the namespace.
func (c Client) Names(ctx context.Context, resource schema.GroupVersionResource) ([]string, error) {
	list, err := c.Resource(resource).Namespace(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].GetName()
	}
	return names, nil
}

// Objects reads a Rollout and what belongs to it.
func (c Client) Objects(ctx context.Context, name string) (view.Objects, error) {
	o, _, err := c.lookAt(ctx, name)
	return o, err
}

// watched is a resource of which objects with some labels may belong to what is shown.
type watched struct {
	resource schema.GroupVersionResource
	options  metav1.ListOptions
}

// lookAt reads a Rollout and what belongs to it, and says where that was found.
func (c Client) lookAt(ctx context.Context, name string) (view.Objects, []watched, error) {
	ro, err := c.Rollout(ctx, name)
	if err != nil {
		return view.Objects{}, nil, err
	}
	options, err := belonging(ro)
	if err != nil {
		return view.Objects{}, nil, err
	}
	o := view.Objects{Rollout: ro}
	where, err := c.children(ctx, &o, options)
	if err != nil {
		return view.Objects{}, nil, err
	}
	o.Experiments, err = listed[v1alpha1.Experiment](ctx, c, Experiments, metav1.ListOptions{})
	if err == nil {
		where = append(where, watched{resource: Experiments})
	}
	return o, where, notForbidden(err)
}

// Experiment reads one Experiment.
func (c Client) Experiment(ctx context.Context, name string) (*v1alpha1.Experiment, error) {
	u, err := c.Resource(Experiments).Namespace(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return typed[v1alpha1.Experiment](u)
}

// ExperimentList reads all Experiments of the namespace.
func (c Client) ExperimentList(ctx context.Context) ([]*v1alpha1.Experiment, error) {
	return listed[v1alpha1.Experiment](ctx, c, Experiments, metav1.ListOptions{})
}

// ExperimentObjects reads an Experiment and what belongs to it.
func (c Client) ExperimentObjects(ctx context.Context, name string) (view.Objects, error) {
	o, _, err := c.lookAtExperiment(ctx, name)
	return o, err
}

// lookAtExperiment reads an Experiment and what belongs to it, and says where that was found.
func (c Client) lookAtExperiment(ctx context.Context, name string) (view.Objects, []watched, error) {
	exp, err := c.Experiment(ctx, name)
	if err != nil {
		return view.Objects{}, nil, err
	}
	o := view.Objects{Experiment: exp}
	where, err := c.children(ctx, &o, metav1.ListOptions{LabelSelector: v1alpha1.PodTemplateHashLabel})
	return o, where, err
}

// children reads what may belong to a Rollout or an Experiment. AnalysisRuns are left out where nobody lets them be seen: a right
// that was given to see pods must remain enough.
func (c Client) children(ctx context.Context, o *view.Objects, options metav1.ListOptions) ([]watched, error) {
	var err error
	if o.ReplicaSets, err = listed[appsv1.ReplicaSet](ctx, c, ReplicaSets, options); err != nil {
		return nil, err
	}
	if o.Pods, err = listed[corev1.Pod](ctx, c, Pods, options); err != nil {
		return nil, err
	}
	where := []watched{{ReplicaSets, options}, {Pods, options}}
	o.AnalysisRuns, err = listed[v1alpha1.AnalysisRun](ctx, c, AnalysisRuns, metav1.ListOptions{})
	if err == nil {
		where = append(where, watched{resource: AnalysisRuns})
	}
	return where, notForbidden(err)
}

func notForbidden(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) { // the latter: the cluster has no such resource
		return nil
	}
	return err
}

func listed[T any](ctx context.Context, c Client, resource schema.GroupVersionResource, options metav1.ListOptions) ([]*T, error) {
	list, err := c.Resource(resource).Namespace(c.Namespace).List(ctx, options)
	if err != nil {
		return nil, err
	}
	return typedList[T](list)
}

// ReplicaSets reads the ReplicaSets that belong to the Rollout.
func (c Client) ReplicaSets(ctx context.Context, ro *v1alpha1.Rollout) ([]*appsv1.ReplicaSet, error) {
	options, err := belonging(ro)
	if err != nil {
		return nil, err
	}
	sets, err := listed[appsv1.ReplicaSet](ctx, c, ReplicaSets, options)
	if err != nil {
		return nil, err
	}
	var own []*appsv1.ReplicaSet
	for _, rs := range sets {
		if metav1.IsControlledBy(rs, ro) {
			own = append(own, rs)
		}
	}
	return own, nil
}

// belonging selects ReplicaSets and pods that may belong to the Rollout: its selector, and the label that all versions carry.
// One without a selector of its own (workloadRef) is served by the label alone, and so is one with experiments, which may have pods of
// any labels; who owns what is for the reader to check.
func belonging(ro *v1alpha1.Rollout) (metav1.ListOptions, error) {
	selector := labels.Everything()
	if ro.Spec.Selector != nil && !experimenting(ro) {
		s, err := metav1.LabelSelectorAsSelector(ro.Spec.Selector)
		if err != nil {
			return metav1.ListOptions{}, fmt.Errorf("selector of rollout %q: %w", ro.Name, err)
		}
		selector = s
	}
	versioned, err := labels.NewRequirement(v1alpha1.PodTemplateHashLabel, selection.Exists, nil)
	if err != nil {
		return metav1.ListOptions{}, err
	}
	return metav1.ListOptions{LabelSelector: selector.Add(*versioned).String()}, nil
}

func experimenting(ro *v1alpha1.Rollout) bool {
	canary := ro.Spec.Strategy.Canary
	return canary != nil && slices.ContainsFunc(canary.Steps, func(s v1alpha1.CanaryStep) bool { return s.Experiment != nil })
}

func typed[T any](u *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
		return nil, fmt.Errorf("read %s %q: %w", u.GetKind(), u.GetName(), err)
	}
	return out, nil
}

func typedList[T any](list *unstructured.UnstructuredList) ([]*T, error) {
	out := make([]*T, 0, len(list.Items))
	for i := range list.Items {
		t, err := typed[T](&list.Items[i])
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}
