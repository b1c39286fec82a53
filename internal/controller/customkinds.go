package controller

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/internal/spec"
)

// rule is one of the rights that the API server says that this process has.
type rule struct {
	Verbs     []string `json:"verbs"`
	APIGroups []string `json:"apiGroups"`
	Resources []string `json:"resources"`
}

// customKindsOf returns a function that asks which kinds of trafficRouting.custom the controller may patch: those that an administrator has chosen. Rollouts
// that are gone may have left something in objects of these, and no list of kinds in the program has them.
func customKindsOf(c client.Client, mapper meta.RESTMapper, namespace string) func(context.Context) ([]schema.GroupVersionKind, error) {
	if namespace == "" {
		namespace = metav1.NamespaceDefault // what is granted in all namespaces is granted there
	}
	return func(ctx context.Context) ([]schema.GroupVersionKind, error) {
		review := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"namespace": namespace}}}
		review.SetGroupVersionKind(schema.GroupVersionKind{Group: "authorization.k8s.io", Version: "v1", Kind: "SelfSubjectRulesReview"})
		if err := c.Create(ctx, review); err != nil {
			return nil, fmt.Errorf("ask which rights the controller has: %w", err)
		}
		var answer struct {
			Status struct {
				ResourceRules []rule `json:"resourceRules"`
			} `json:"status"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(review.Object, &answer); err != nil {
			return nil, fmt.Errorf("read which rights the controller has: %w", err)
		}
		return customKinds(answer.Status.ResourceRules, mapper)
	}
}

// customKinds are the kinds of trafficRouting.custom that rules let one patch. Resources that the cluster does not have are passed over.
func customKinds(rules []rule, mapper meta.RESTMapper) (all []schema.GroupVersionKind, err error) {
	for _, r := range rules {
		if !slices.Contains(r.Verbs, "patch") && !slices.Contains(r.Verbs, "*") {
			continue
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				if !spec.IsCustomKind(schema.GroupKind{Group: group}) || resource == "*" {
					continue
				}
				kind, err := mapper.KindFor(schema.GroupVersionResource{Group: group, Resource: resource})
				switch {
				case meta.IsNoMatchError(err):
				case err != nil:
					return nil, fmt.Errorf("ask the cluster for the kind of %s.%s: %w", resource, group, err)
				case spec.IsCustomKind(kind.GroupKind()) && !slices.Contains(all, kind):
					all = append(all, kind)
				}
			}
		}
	}
	return all, nil
}
