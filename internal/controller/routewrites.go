package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/plugin"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// releaseRoute changes or deletes an object that the Rollout no longer names. A refusal by the API server is not an error of
// this process: it is remembered, and the next reconcile, which follows immediately, decides what it means. If nothing waits
// for the release, a conflict is treated the same way: someone may change the object all the time.
func (r *RolloutReconciler) releaseRoute(ctx context.Context, rollout *v1alpha1.Rollout, c change.WriteRoute) error {
	key, object := client.ObjectKeyFromObject(rollout), routers.FormatKey(traffic.KeyOf(c.From))
	err := r.writeRoute(ctx, rollout, c)
	var keeps keepsTraffic
	if errors.As(err, &keeps) || refused(err) || apierrors.IsInternalError(err) || c.Independent && movedOn(err) {
		r.log.WarnContext(ctx, "a route cannot be released", "rollout", key.String(), "route", object, "error", err)
		r.memory.refused(key, refusedRoutes, object, change.Refusal{Message: apiMessage(err), At: r.clock.Now()})
		return fmt.Errorf("%w: %s", errBehind, err.Error()) // no refusal to those who ask: the engine knows what to do about it
	}
	if err == nil {
		r.memory.accepted(key, refusedRoutes, object)
	}
	return err
}

// writeRoute creates, changes or deletes an object of a traffic router.
func (r *RolloutReconciler) writeRoute(ctx context.Context, rollout *v1alpha1.Rollout, c change.WriteRoute) error {
	err := r.sendRoute(ctx, rollout, c)
	r.tellRoute(rollout, c, err)
	if c.To != nil && apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot ") { // so says the API server of a right that is missing
		return fmt.Errorf("%w: %s", err, routers.Rights(c.To.GroupVersionKind()))
	}
	return err
}

func (r *RolloutReconciler) sendRoute(ctx context.Context, rollout *v1alpha1.Rollout, c change.WriteRoute) error {
	if c.To != nil {
		version, err := servedVersion(r.routes.mapper, c.To)
		if err != nil {
			return fmt.Errorf("write %s %s: %w", c.To.GetKind(), c.To.GetName(), err)
		}
		c.To = routers.Form(c.To, version)
	}
	switch {
	case c.To != nil && c.To.GroupVersionKind() == plugin.Kind:
		if asked, ok := plugin.InForce(c.To); ok && r.plugins.host != nil {
			if err := r.notePlugin(ctx, rollout, asked); err != nil {
				return err
			}
		}
		return r.plugins.ask(rollout, c.To)
	case c.From == nil:
		err := r.post(ctx, rollout, c.To)
		switch {
		case apierrors.IsAlreadyExists(err):
			return errBehind // a pass that was cut off made it, and the cache does not show it yet
		case err != nil:
			return fmt.Errorf("create %s %s: %w", c.To.GetKind(), c.To.GetName(), err)
		}
		return nil
	case c.To == nil:
		return r.remove(ctx, rollout, c.From, experiment.Kind(c.From.GetKind()))
	}
	return r.patch(ctx, rollout, c.From, c.To.DeepCopy(), c.From.GetKind())
}

// releaseRoutes takes out of objects what a Rollout has put there that is gone, out of each for itself.
func (r *RolloutReconciler) releaseRoutes(ctx context.Context, rollout types.NamespacedName, objects []*unstructured.Unstructured) error {
	owner := traffic.Owner{Namespace: rollout.Namespace, Name: rollout.Name}
	var failures []error
	for _, from := range objects {
		to := routers.Release(owner, from)
		if to == nil || equality.Semantic.DeepEqual(from.Object, to.Object) {
			continue // what is the Rollout's own goes with it
		}
		if err := r.client.Patch(ctx, to.DeepCopy(), guarded(from)); err != nil && !movedOn(err) {
			failures = append(failures, fmt.Errorf("release %s %s: %w", from.GetKind(), from.GetName(), err))
			continue
		}
		r.log.InfoContext(ctx, "release "+from.GetKind()+" "+from.GetName(), "rollout", rollout.String(), "reason", "the Rollout is gone")
	}
	return errors.Join(failures...)
}
