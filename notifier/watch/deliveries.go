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
	"github.com/sluice-delivery/sluice/notifier/past"
)

// count counts what has happened to a Rollout. That is written down first: a process that is killed in between loses its counters anyway.
func (r *rollouts) count(ctx context.Context, rollout *unstructured.Unstructured) error {
	r.meters.known(rollout)
	before := dora.Parse(rollout.GetAnnotations()[dora.Annotation])
	events, err := r.missed.of(ctx, r.notifier, rollout.GetUID())
	if err != nil {
		return err
	}
	now, outcomes := dora.Missed(before, rollout, past.Moments(events), r.since)
	now, outcome := dora.Next(now, rollout, r.since, r.clock.Now())
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
	err = r.client.Patch(ctx, patched, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // a newer version is on its way, and is looked at instead
	}
	if err != nil {
		return fmt.Errorf("record what was counted of Rollout %s/%s: %w", rollout.GetNamespace(), rollout.GetName(), err)
	}
	for _, o := range append(outcomes, outcome) {
		r.meters.delivered(rollout, o)
	}
	rollout.SetAnnotations(patched.GetAnnotations())
	return nil
}
