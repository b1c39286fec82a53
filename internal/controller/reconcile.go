package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// kind is what differs between the reconcilers of Rollouts, Experiments and AnalysisRuns. O is what an engine observes, P what it plans.
type kind[O, P any] interface {
	// observe reads what a decision depends on. That there is no such object is an error which apierrors.IsNotFound tells.
	observe(ctx context.Context, key types.NamespacedName) (O, error)
	// next asks the engine.
	next(seen O) P
	// look adds what a plan needs to what was seen, and reports whether it needs anything. A plan that does is not carried out.
	look(ctx context.Context, seen *O, p P) (needs bool, err error)
	// carryOut applies a plan, and returns when to requeue.
	carryOut(ctx context.Context, seen O, p P) (reconcile.Result, error)
	// heed adds to what was seen that the API server does not take an object, and reports whether the engine decides what that means.
	heed(seen *O, r refusal) bool
	// gone is for an object that is gone. It returns when to go on with that, 0 if it is done.
	gone(ctx context.Context, key types.NamespacedName) (again time.Duration, err error)
}

const (
	// mostLooks is how many times the engine may ask for looks in one pass. It needs a few: one for each kind of thing, and one for the pods
	// of each version.
	mostLooks = 1000
	// mostRefusals is how many objects that the API server refuses, mostly because their names are taken, one reconcile
	// tries. The next reconcile tries again, later each time.
	mostRefusals = 100
)

// reconcileObject is one pass over one object, of whatever kind: observe, decide, carry out, wait.
func reconcileObject[O, P any](ctx context.Context, w *writer, k kind[O, P], key types.NamespacedName) (reconcile.Result, error) {
	seen, err := k.observe(ctx, key)
	if apierrors.IsNotFound(err) {
		w.memory.forget(key)
		again, err := k.gone(ctx, key)
		return reconcile.Result{RequeueAfter: again}, err
	}
	var result reconcile.Result
	if err == nil {
		result, err = decideAndCarryOut(ctx, k, seen)
	}
	var held withheld
	switch {
	case movedOn(err), errors.Is(err, errBehind):
		w.log.DebugContext(ctx, "conflict, requeueing", w.kind, key.String(), "error", err)
		return reconcile.Result{RequeueAfter: w.memory.backoff(key, w.clock.Now())}, nil
	case errors.As(err, &held):
		w.log.WarnContext(ctx, "the API server refused a write; it is tried again", w.kind, key.String(), "after", refusedRetry, "error", err)
		return reconcile.Result{RequeueAfter: refusedRetry}, nil
	case err != nil:
		if again, ok := waits(err); ok {
			w.log.DebugContext(ctx, "traffic cannot be relied on yet", w.kind, key.String(), "error", err)
			return reconcile.Result{RequeueAfter: again}, nil
		}
		return reconcile.Result{}, err
	}
	w.memory.finished(key)
	return result, nil
}

// decideAndCarryOut asks the engine again about each object that the API server does not take. Every decision looks for itself: a plan that was
// carried out in part has changed what there is to see.
func decideAndCarryOut[O, P any](ctx context.Context, k kind[O, P], seen O) (reconcile.Result, error) {
	for refusals := 0; ; refusals++ {
		known, p, err := decide(ctx, k, seen)
		if err != nil {
			return reconcile.Result{}, err
		}
		result, err := k.carryOut(ctx, known, p)
		var r *refusal
		if !errors.As(err, &r) || refusals == mostRefusals || !k.heed(&seen, *r) {
			return result, err
		}
	}
}

// decide asks the engine, and looks at what it asks for until it asks for nothing more, or too often.
func decide[O, P any](ctx context.Context, k kind[O, P], seen O) (O, P, error) {
	for range mostLooks {
		var p P
		if err := ctx.Err(); err != nil {
			return seen, p, err
		}
		p = k.next(seen)
		if needs, err := k.look(ctx, &seen, p); err != nil || !needs {
			return seen, p, err
		}
	}
	var none P
	return seen, none, fmt.Errorf("the engine still needs more reads after %d in one reconcile; this is a bug in the controller", mostLooks)
}

// wakeAt requeues an object at a time; the zero time is never.
func (w *writer) wakeAt(at time.Time) reconcile.Result {
	if at.IsZero() {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(at.Sub(w.clock.Now()), time.Millisecond)}
}
