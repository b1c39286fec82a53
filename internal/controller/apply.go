package controller

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// apply carries a plan out in its order and stops at the first write that fails, but for those that the API server refuses: what does not depend
// on them is done all the same (refused.go).
func (r *RolloutReconciler) apply(ctx context.Context, seen plan.Observed, p plan.Plan) error {
	var refusals withheld
	first := firstRoute(p.Route)
	if err := r.changeAll(ctx, seen.Rollout, append(slices.Clip(p.Grow), p.Route[:first]...), &refusals); err != nil {
		return r.tellAsked(ctx, seen, err)
	}
	if err := r.listed(ctx, seen, p); err != nil {
		return err
	}
	if err := r.changeAll(ctx, seen.Rollout, p.Route[first:], &refusals); err != nil {
		return r.tellAsked(ctx, seen, err)
	}
	if len(refusals) == 0 {
		if err := r.inForce(ctx, seen, p); err != nil {
			return err
		}
		if err := r.registered(ctx, seen, leaned(seen, p)); err != nil {
			return err
		}
	}
	for _, changes := range [][]change.Change{p.Judge, p.Shrink} {
		if len(refusals) > 0 {
			return r.withhold(ctx, seen, refusals)
		}
		if err := r.changeAll(ctx, seen.Rollout, changes, &refusals); err != nil {
			return err
		}
	}
	if len(refusals) > 0 {
		return r.withhold(ctx, seen, refusals)
	}
	if p.Record != nil {
		if err := r.record(ctx, *p.Record); err != nil {
			return err
		}
	}
	tellEvents(r.events, seen.Rollout, p.Events)
	r.tellTroubles(seen, p)
	return nil
}

// changeAll makes changes, and keeps those that the API server refuses.
func (r *RolloutReconciler) changeAll(ctx context.Context, rollout *v1alpha1.Rollout, changes []change.Change, refusals *withheld) error {
	for _, made := range changes {
		if refusals.keep(made) {
			continue
		}
		if err := r.change(ctx, rollout, made); err != nil && !refusals.add(made, err) {
			return err
		}
	}
	return nil
}

func (r *RolloutReconciler) change(ctx context.Context, rollout *v1alpha1.Rollout, made change.Change) error {
	switch c := made.(type) {
	case change.CreateReplicaSet, change.UpdateReplicaSet, change.DeleteReplicaSet, change.CreateService, change.DeleteService,
		change.CreateAnalysisRun, change.TerminateAnalysisRun, change.DeleteAnalysisRun,
		change.CreateExperiment, change.TerminateExperiment, change.DeleteExperiment:
		return r.changeOwned(ctx, rollout, made)
	case change.UpdateService:
		return r.patch(ctx, rollout, c.From, c.To.DeepCopy(), "Service")
	case change.WriteRoute:
		if c.Release {
			return r.releaseRoute(ctx, rollout, c)
		}
		return r.writeRoute(ctx, rollout, c)
	case change.UpdatePod:
		return r.updatePod(ctx, c)
	case change.ScaleWorkload:
		return r.scaleWorkload(ctx, rollout, c)
	case change.EvictPod:
		return r.evict(ctx, c.Pod)
	}
	panic(fmt.Sprintf("change of unknown kind %T", made)) // the sum is closed
}

// record writes the Rollout itself: its own fields, where they change, and then the status, which the API server keeps apart.
func (r *RolloutReconciler) record(ctx context.Context, rec plan.Record) error {
	own := rec.From
	if !maps.Equal(rec.From.Annotations, rec.To.Annotations) || !equality.Semantic.DeepEqual(rec.From.Spec.Replicas, rec.To.Spec.Replicas) {
		own = rec.From.DeepCopy()
		own.Annotations, own.Spec.Replicas = rec.To.Annotations, rec.To.Spec.Replicas
		if err := r.patch(ctx, rec.From, rec.From, own, "rollout"); err != nil {
			return err
		}
	}
	unreadable := len(own.Unreadable.Of("status")) > 0
	if equality.Semantic.DeepEqual(own.Status, rec.To.Status) && !unreadable {
		return nil
	}
	was, is := own.Status, rec.To.Status
	r.balancers.report(rec.From, &is)
	if !unreadable {
		was, is = differing(was, is)
	}
	from, to := onlyStatus(own, was), onlyStatus(own, is)
	err := r.client.Status().Patch(ctx, to, guarded(from))
	if r.answered(rec.From, rec.From, to, err); err != nil {
		return fmt.Errorf("patch the status of rollout %s: %w", client.ObjectKeyFromObject(rec.From), err)
	}
	return nil
}

// onlyStatus is a Rollout as far as a patch of its status needs it: comparing the rest of two large objects takes longer than all
// else in a pass.
func onlyStatus(ro *v1alpha1.Rollout, status v1alpha1.RolloutStatus) *v1alpha1.Rollout {
	return &v1alpha1.Rollout{
		TypeMeta:   ro.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Namespace: ro.Namespace, Name: ro.Name, ResourceVersion: ro.ResourceVersion},
		Status:     status,
		Unreadable: ro.Unreadable,
	}
}

// differing are two statuses without what is the same in both: to make a patch is to write both as JSON, and to read and compare that.
// Neither is left empty: an empty status is not written at all, and a patch from something to that takes the whole status away.
func differing(was, is v1alpha1.RolloutStatus) (before, after v1alpha1.RolloutStatus) {
	a, b := reflect.ValueOf(&was).Elem(), reflect.ValueOf(&is).Elem()
	for i := range a.NumField() {
		if equality.Semantic.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			a.Field(i).SetZero()
			b.Field(i).SetZero()
		}
	}
	if was.ObservedGeneration == is.ObservedGeneration {
		was.ObservedGeneration, is.ObservedGeneration = inBoth, inBoth
	}
	return was, is
}

// inBoth stands for what is the same in both statuses; so it is in no patch.
const inBoth = "in both"

// withoutPods is a ReplicaSet for a patch, without what its pods run. Of that nothing but the affinity ever changes.
func withoutPods(set *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	lean := *set
	lean.Spec.Template.Spec = corev1.PodSpec{Affinity: set.Spec.Template.Spec.Affinity}
	lean.Status = appsv1.ReplicaSetStatus{}
	return &lean
}
