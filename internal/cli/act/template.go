package act

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// TemplateHolder is the object that holds a Rollout's pod template at spec.template: the Rollout itself, or the Deployment that it
// refers to. The object is as the API server gave it, so that writing it back loses nothing that this program does not know.
type TemplateHolder struct {
	Client dynamic.ResourceInterface
	Object *unstructured.Unstructured
}

// HolderOf reads the object that holds the template of a Rollout.
func HolderOf(ctx context.Context, c live.Client, rollout string) (TemplateHolder, error) {
	ro, err := c.Rollouts().Get(ctx, rollout, metav1.GetOptions{})
	if err != nil {
		return TemplateHolder{}, err
	}
	kind, refers, _ := unstructured.NestedString(ro.Object, "spec", "workloadRef", "kind")
	if !refers {
		return TemplateHolder{Client: c.Rollouts(), Object: ro}, nil
	}
	name, _, _ := unstructured.NestedString(ro.Object, "spec", "workloadRef", "name")
	if kind != "Deployment" {
		return TemplateHolder{}, fmt.Errorf("rollout '%s' takes its template from %s '%s': only Deployments can be changed, so edit that object",
			rollout, kind, name)
	}
	deployments := c.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace(c.Namespace)
	deployment, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return TemplateHolder{}, fmt.Errorf("deployment '%s', from which rollout '%s' takes its template: %w", name, rollout, err)
	}
	return TemplateHolder{Client: deployments, Object: deployment}, nil
}

// WantedTemplate is the pod template that the spec asks for, of whatever object holds it.
func WantedTemplate(ctx context.Context, c live.Client, rollout string) (*corev1.PodTemplateSpec, error) {
	holder, err := HolderOf(ctx, c, rollout)
	if err != nil {
		return nil, err
	}
	object, _, err := unstructured.NestedMap(holder.Object.Object, "spec", "template")
	if err != nil {
		return nil, fmt.Errorf("pod template of rollout '%s': %w", rollout, err)
	}
	var template corev1.PodTemplateSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &template); err != nil {
		return nil, fmt.Errorf("pod template of rollout '%s': %w", rollout, err)
	}
	return &template, nil
}
