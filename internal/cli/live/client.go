package live

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/dynamic"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/view"
)

// The resources that a picture is made of.
var (
	Rollouts    = v1alpha1.GroupVersion.WithResource("rollouts")
	replicaSets = appsv1.SchemeGroupVersion.WithResource("replicasets")
	pods        = corev1.SchemeGroupVersion.WithResource("pods")
)

// Client is access to one namespace of a cluster. The dynamic client keeps the binary a quarter of the size that typed ones of all
// of Kubernetes would give it.
type Client struct {
	dynamic.Interface
	Namespace string
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
	list, err := c.Rollouts().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return typedList[v1alpha1.Rollout](list)
}

// Objects reads a Rollout and what belongs to it.
func (c Client) Objects(ctx context.Context, name string) (view.Objects, error) {
	ro, err := c.Rollout(ctx, name)
	if err != nil {
		return view.Objects{}, err
	}
	o := view.Objects{Rollout: ro}
	if o.ReplicaSets, err = c.ReplicaSets(ctx, ro); err != nil {
		return view.Objects{}, err
	}
	options, err := belonging(ro)
	if err != nil {
		return view.Objects{}, err
	}
	list, err := c.Resource(pods).Namespace(c.Namespace).List(ctx, options)
	if err != nil {
		return view.Objects{}, err
	}
	o.Pods, err = typedList[corev1.Pod](list)
	return o, err
}

// ReplicaSets reads the ReplicaSets that belong to the Rollout.
func (c Client) ReplicaSets(ctx context.Context, ro *v1alpha1.Rollout) ([]*appsv1.ReplicaSet, error) {
	options, err := belonging(ro)
	if err != nil {
		return nil, err
	}
	list, err := c.Resource(replicaSets).Namespace(c.Namespace).List(ctx, options)
	if err != nil {
		return nil, err
	}
	sets, err := typedList[appsv1.ReplicaSet](list)
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
// One without a selector of its own (workloadRef) is served by the label alone; who owns what is for the reader to check.
func belonging(ro *v1alpha1.Rollout) (metav1.ListOptions, error) {
	selector := labels.Everything()
	if ro.Spec.Selector != nil {
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
