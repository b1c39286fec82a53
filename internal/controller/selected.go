package controller

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// selectFor finds the objects that the Rollout's routers ask for by labels.
func (r *routes) selectFor(ctx context.Context, seen *plan.Observed) error {
	seen.Policy.Selected = nil
	for _, s := range routers.Selections(seen.Rollout) {
		if err := r.mayRead(ctx, s.GroupVersionKind); err != nil {
			return err
		}
		known, err := r.follow(ctx, s.GroupVersionKind)
		if err != nil {
			return err
		}
		if !known {
			seen.Policy.Unserved = append(seen.Policy.Unserved, s.GroupKind())
			continue
		}
		found, err := r.selected(ctx, s)
		if err != nil {
			return err
		}
		seen.Policy.Selected = append(seen.Policy.Selected, routers.Select([]traffic.Selection{s}, slices.Values(found))...)
	}
	return nil
}

func (r *routes) selected(ctx context.Context, s traffic.Selection) ([]*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(listOf(s.GroupVersionKind))
	if err := r.cache.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabelsSelector{Selector: s.Selector}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the %ss of %s: %w", s.Kind, s.Namespace, err)
	}
	r.isFilled(s.GroupVersionKind)
	var found []*unstructured.Unstructured
	for i := range list.Items {
		found = append(found, &list.Items[i])
	}
	return found, nil
}
