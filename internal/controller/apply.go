package controller

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// apply carries a plan out in its order and stops at the first write that fails.
func (r *Rollouts) apply(ctx context.Context, seen plan.Observed, p plan.Plan) error {
	for _, changes := range [][]plan.Change{p.Grow, p.Route, p.Judge, p.Shrink} {
		for _, change := range changes {
			if err := r.change(ctx, seen.Rollout, change); err != nil {
				return err
			}
		}
	}
	if p.Record != nil {
		if err := r.record(ctx, *p.Record); err != nil {
			return err
		}
	}
	for _, e := range p.Events {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		r.events.Event(seen.Rollout, kind, e.Reason, e.Message)
	}
	var failures []error
	for _, change := range p.Label { // each for itself: one that fails is no reason to leave out the rest
		failures = append(failures, r.change(ctx, seen.Rollout, change))
	}
	return errors.Join(failures...)
}

func (r *Rollouts) change(ctx context.Context, rollout *v1alpha1.Rollout, change plan.Change) error {
	switch c := change.(type) {
	case plan.CreateReplicaSet:
		return r.create(ctx, rollout, c.ReplicaSet)
	case plan.UpdateReplicaSet:
		return r.patch(ctx, rollout, c.From, c.To.DeepCopy(), "ReplicaSet")
	case plan.UpdateService:
		return r.patch(ctx, rollout, c.From, c.To.DeepCopy(), "Service")
	case plan.UpdatePod:
		return r.updatePod(ctx, c)
	case plan.ScaleWorkload:
		return r.scaleWorkload(ctx, rollout, c)
	case plan.EvictPod:
		return r.evict(ctx, c.Pod)
	case plan.CreateAnalysisRun:
		return r.createRun(ctx, rollout, c.Run)
	case plan.TerminateAnalysisRun:
		return r.patch(ctx, rollout, c.From, c.To.DeepCopy(), "AnalysisRun")
	case plan.DeleteAnalysisRun:
		return r.deleteRun(ctx, rollout, c.Run)
	case plan.DeleteReplicaSet:
		return r.remove(ctx, rollout, c.ReplicaSet)
	}
	panic(fmt.Sprintf("change of unknown kind %T", change)) // the sum is closed
}

func (r *Rollouts) create(ctx context.Context, rollout *v1alpha1.Rollout, want *appsv1.ReplicaSet) error {
	set := want.DeepCopy() // the client writes the answer into what it sends
	err := r.client.Create(ctx, set)
	switch {
	case err == nil:
		r.sent.wrote(client.ObjectKeyFromObject(rollout), set, r.clock.Now())
		return nil
	case apierrors.IsAlreadyExists(err):
		return r.adopt(ctx, rollout, want)
	case refused(err):
		return &refusal{plan.CreateFailure{Name: want.Name, Message: err.Error()}}
	}
	return fmt.Errorf("create ReplicaSet %s: %w", want.Name, err)
}

// adopt is for a ReplicaSet that exists already: an earlier pass made it and the cache does not show it, or it is another's.
func (r *Rollouts) adopt(ctx context.Context, rollout *v1alpha1.Rollout, want *appsv1.ReplicaSet) error {
	var have appsv1.ReplicaSet
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(want), &have); err != nil {
		return fmt.Errorf("read ReplicaSet %s, which exists already: %w", want.Name, err)
	}
	if metav1.IsControlledBy(&have, rollout) && spec.SameTemplate(spec.Bare(want), spec.Bare(&have)) {
		r.sent.wrote(client.ObjectKeyFromObject(rollout), &have, r.clock.Now())
		return errBehind
	}
	return &refusal{plan.CreateFailure{Name: want.Name, Taken: true}}
}

// refused reports whether trying the same again cannot help.
func refused(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false
	}
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsRequestEntityTooLargeError(err)
}

// refusal carries what the engine must know of a creation that failed for good.
type refusal struct{ plan.CreateFailure }

func (r *refusal) Error() string { return fmt.Sprintf("create ReplicaSet %s: %s", r.Name, r.Message) }

// patch writes what differs between from and to, which must be a copy: the answer is written into it.
func (r *Rollouts) patch(ctx context.Context, rollout *v1alpha1.Rollout, from, to client.Object, kind string) error {
	if err := r.client.Patch(ctx, to, guarded(from)); err != nil {
		return fmt.Errorf("patch %s %s: %w", kind, from.GetName(), err)
	}
	r.sent.wrote(client.ObjectKeyFromObject(rollout), to, r.clock.Now())
	return nil
}

func (r *Rollouts) remove(ctx context.Context, rollout *v1alpha1.Rollout, set *appsv1.ReplicaSet) error {
	err := r.client.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: &set.UID, ResourceVersion: &set.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ReplicaSet %s: %w", set.Name, err)
	}
	r.sent.deleted(client.ObjectKeyFromObject(rollout), set, r.clock.Now())
	return nil
}

// record writes the Rollout itself: its own fields, where they change, and then the status, which the API server keeps apart.
func (r *Rollouts) record(ctx context.Context, rec plan.Record) error {
	key := client.ObjectKeyFromObject(rec.From)
	own := rec.From.DeepCopy()
	own.Annotations, own.Spec.Replicas = rec.To.Annotations, rec.To.Spec.Replicas
	if differ(rec.From, own) {
		if err := r.client.Patch(ctx, own, guarded(rec.From)); err != nil {
			return fmt.Errorf("patch rollout %s: %w", key, err)
		}
		r.sent.wrote(key, own, r.clock.Now())
	}
	to := own.DeepCopy()
	to.Status = rec.To.Status
	if !differ(own, to) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, to, guarded(own)); err != nil {
		return fmt.Errorf("patch the status of rollout %s: %w", key, err)
	}
	r.sent.wrote(key, to, r.clock.Now())
	return nil
}

// guarded is a patch of what differs from an object, which the API server takes only while the object is at that version.
func guarded(from client.Object) client.Patch {
	return client.MergeFromWithOptions(from, client.MergeFromWithOptimisticLock{})
}

func differ(a, b *v1alpha1.Rollout) bool {
	patch, err := client.MergeFrom(a).Data(b)
	return err != nil || string(patch) != "{}"
}

// asRefusal returns the engine's view of a creation that failed for good, if err is one.
func asRefusal(err error) (plan.CreateFailure, bool) {
	var r *refusal
	if errors.As(err, &r) {
		return r.CreateFailure, true
	}
	return plan.CreateFailure{}, false
}

// movedOn reports whether a write failed because the object is not what it was when it was observed.
func movedOn(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }
