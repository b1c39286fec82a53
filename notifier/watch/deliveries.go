package watch

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/notifier/dora"
)

// count counts what has happened to a Rollout. That is written down first: a process that is killed in between loses its counters anyway.
func (n *notifier) count(ctx context.Context, rollout *unstructured.Unstructured) error {
	n.meters.known(rollout)
	before := dora.Parse(rollout.GetAnnotations()[dora.Annotation])
	now, outcome := dora.Next(before, rollout, n.since, n.clock.Now())
	if now == before {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": rollout.GetResourceVersion(), "annotations": map[string]string{dora.Annotation: now.String()},
	}})
	if err != nil {
		return err
	}
	patched := rollout.DeepCopy()
	err = n.client.Patch(ctx, patched, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // a newer version is on its way, and is looked at instead
	}
	if err != nil {
		return fmt.Errorf("record what was counted of Rollout %s/%s: %w", rollout.GetNamespace(), rollout.GetName(), err)
	}
	n.meters.delivered(rollout, outcome)
	rollout.SetAnnotations(patched.GetAnnotations())
	return nil
}
