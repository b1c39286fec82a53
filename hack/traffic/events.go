package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// event is what happens to a Rollout while it is under load. It returns when the Rollout is Healthy again, except for pods that still end.
type event struct {
	name string
	do   func(context.Context, *arena) error
	// standby: a second controller waits to lead.
	standby bool
	// ends: it ends pods of the new version. While the only one is replaced, the stable version answers requests with the header.
	ends bool
	// counted: all pods of the new version live until it is promoted, and so does what they counted.
	counted bool
}

var events = []event{
	{name: "promotion", do: promotion, counted: true},
	{name: "abort", do: abort},
	{name: "superseding update", do: superseding},
	{name: "rollback after the update", do: rollback},
	{name: "scaling during the update", do: scaling},
	{name: "autoscaler during the update", do: autoscaled},
	{name: "pods deleted during the update", do: deletedPods, ends: true},
	{name: "node drained during the update", do: drained, ends: true},
	{name: "controller killed during the update", do: killed},
	{name: "leader change during the update", do: leaderChange, standby: true},
	{name: "restart", do: restart},
}

func promotion(ctx context.Context, a *arena) error {
	if err := a.setImage(ctx, "v2"); err != nil {
		return err
	}
	return a.healthy(ctx, "v2")
}

func abort(ctx context.Context, a *arena) error {
	if err := a.underway(ctx); err != nil {
		return err
	}
	if err := a.patch(ctx, `{"status": {"abort": true}}`, "status"); err != nil {
		return err
	}
	if err := a.until(ctx, "aborted", func(ro *v1alpha1.Rollout) bool { return ro.Status.Phase == v1alpha1.RolloutPhaseDegraded }); err != nil {
		return err
	}
	if err := a.setImage(ctx, "v1"); err != nil {
		return err
	}
	return a.healthy(ctx, "v1")
}

func superseding(ctx context.Context, a *arena) error {
	if err := a.underway(ctx); err != nil {
		return err
	}
	if err := a.setImage(ctx, "v3"); err != nil {
		return err
	}
	return a.healthy(ctx, "v3")
}

func rollback(ctx context.Context, a *arena) error {
	if err := promotion(ctx, a); err != nil {
		return err
	}
	if err := a.setImage(ctx, "v1"); err != nil {
		return err
	}
	return a.healthy(ctx, "v1")
}

func scaling(ctx context.Context, a *arena) error {
	if err := a.underway(ctx); err != nil {
		return err
	}
	for _, replicas := range []int{pods + 2, pods - 1} {
		if err := a.patch(ctx, fmt.Sprintf(`{"spec": {"replicas": %d}}`, replicas)); err != nil {
			return err
		}
		if err := sleep(ctx, 2*time.Second); err != nil {
			return err
		}
	}
	return a.healthy(ctx, "v2")
}

// deletedPods deletes a pod of each version, one after the other.
func deletedPods(ctx context.Context, a *arena) error {
	if err := a.underway(ctx); err != nil {
		return err
	}
	var list corev1.PodList
	if err := a.client.List(ctx, &list, client.InNamespace(a.namespace)); err != nil {
		return err
	}
	gone := map[string]bool{}
	for _, pod := range list.Items {
		version := pod.Labels[v1alpha1.PodTemplateHashLabel]
		if gone[version] || pod.DeletionTimestamp != nil {
			continue
		}
		gone[version] = true
		if err := a.client.Delete(ctx, &pod); err != nil {
			return err
		}
		if err := sleep(ctx, 2*time.Second); err != nil {
			return err
		}
	}
	return a.healthy(ctx, "v2")
}

func killed(ctx context.Context, a *arena) error {
	if err := a.underway(ctx); err != nil {
		return err
	}
	for range 3 {
		if err := a.killController(); err != nil {
			return err
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return a.healthy(ctx, "v2")
}

// leaderChange ends the leader twice, as an update of the controller's Deployment does. The standby takes over.
func leaderChange(ctx context.Context, a *arena) error {
	if err := a.underway(ctx); err != nil {
		return err
	}
	for range 2 {
		if err := a.changeLeader(); err != nil {
			return err
		}
		if err := sleep(ctx, 2*time.Second); err != nil {
			return err
		}
	}
	return a.healthy(ctx, "v2")
}

func restart(ctx context.Context, a *arena) error {
	at := metav1.Now().Rfc3339Copy()
	if err := a.patch(ctx, fmt.Sprintf(`{"spec": {"restartAt": %q}}`, at.UTC().Format(time.RFC3339))); err != nil {
		return err
	}
	if err := a.until(ctx, "restarted", func(ro *v1alpha1.Rollout) bool {
		return ro.Status.RestartedAt != nil && !ro.Status.RestartedAt.Before(&at)
	}); err != nil {
		return err
	}
	return a.healthy(ctx, "v1")
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
