package cli

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// templateHolder is the object that holds a Rollout's pod template at spec.template: the Rollout itself, or the Deployment that it
// refers to. The object is as the API server gave it, so that writing it back loses nothing that this program does not know.
type templateHolder struct {
	client dynamic.ResourceInterface
	object *unstructured.Unstructured
}

func holderOf(ctx context.Context, c live.Client, rollout string) (templateHolder, error) {
	ro, err := c.Rollouts().Get(ctx, rollout, metav1.GetOptions{})
	if err != nil {
		return templateHolder{}, err
	}
	kind, refers, _ := unstructured.NestedString(ro.Object, "spec", "workloadRef", "kind")
	if !refers {
		return templateHolder{client: c.Rollouts(), object: ro}, nil
	}
	name, _, _ := unstructured.NestedString(ro.Object, "spec", "workloadRef", "name")
	if kind != "Deployment" {
		return templateHolder{}, fmt.Errorf("rollout '%s' takes its template from %s '%s': only Deployments can be changed, so edit that object",
			rollout, kind, name)
	}
	deployments := c.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace(c.Namespace)
	deployment, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return templateHolder{}, fmt.Errorf("deployment '%s', from which rollout '%s' takes its template: %w", name, rollout, err)
	}
	return templateHolder{client: deployments, object: deployment}, nil
}
