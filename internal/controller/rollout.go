package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/telemetry"
	"github.com/sluice-delivery/sluice/internal/telemetry/trace"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// mostLooks is how many times the engine may ask for looks in one pass. It needs a few: one for each kind of thing, and one for the pods
// of each version.
const mostLooks = 1000

// Rollouts carries out what the engine decides about Rollouts.
type Rollouts struct {
	writer
	events record.EventRecorder
	meters *telemetry.Meters
	// traces tell of updates; nil where nobody asked for it.
	traces *trace.Updates
	// workloads reads what a workloadRef refers to.
	workloads *workloads
	// routes reads what traffic routers read and write.
	routes *routes
	// policy is what the operator lets Rollouts do.
	policy spec.Policy
	engine func(plan.Observed) plan.Plan
}

// NewRollouts returns the reconciler of Rollouts, which can be used once it knows how to follow what they name.
func NewRollouts(p Parts) *Rollouts {
	r := &Rollouts{writer: newWriter(p.Clock, p.Client, p.Live, p.Log), events: p.Events, meters: p.Meters, policy: p.Policy, engine: p.Engine}
	if r.engine == nil {
		r.engine = plan.Next
	}
	r.workloads = &workloads{main: p.Cache, sets: p.Sets, referring: r.referring, watched: map[spec.Kind]bool{}}
	r.routes = &routes{cache: p.Cache, live: p.Live, namespace: p.Namespace, policy: p.Policy, mapper: p.Mapper, log: p.Log, concerned: r.concernedBy, grants: newGrants()}
	r.routes.search.left = routers.Kinds()
	return r
}

// Reconcile is one pass over one Rollout. The first one of a process looks for what Rollouts have left in routes.
func (r *Rollouts) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	again := r.routes.lookThrough(ctx, req.NamespacedName, r.clock.Now())
	result, err := r.pass(ctx, req)
	if err == nil && again > 0 && (result.RequeueAfter == 0 || again < result.RequeueAfter) {
		result.RequeueAfter = again
	}
	return result, err
}

func (r *Rollouts) pass(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	seen, err := r.observe(ctx, req.NamespacedName)
	switch {
	case apierrors.IsNotFound(err):
		r.memory.forget(req.NamespacedName)
		r.meters.Forget(telemetry.Rollouts, req.NamespacedName)
		r.traces.Forget(req.NamespacedName)
		return reconcile.Result{}, r.release(ctx, req.NamespacedName)
	case errors.Is(err, errBehind):
		return r.again(req.NamespacedName), nil
	case err != nil:
		return reconcile.Result{}, err
	}

	var held withheld
	next, err := r.carryOutRuns(ctx, seen)
	if refused, ok := asRefusal(err, experiment.ReplicaSet); ok {
		seen.CreateFailure = &refused.CreateFailure
		next, err = r.carryOutRuns(ctx, seen)
	}
	switch {
	case movedOn(err), errors.Is(err, errBehind):
		r.log.Debug("the world has moved on, looking again", "rollout", req.String(), "error", err)
		return r.again(req.NamespacedName), nil
	case errors.As(err, &held):
		r.log.Warn("the API server refused what the Rollout needs; it is tried again", "rollout", req.String(), "after", refusedRetry, "error", err)
		return reconcile.Result{RequeueAfter: refusedRetry}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	r.memory.finished(req.NamespacedName)
	if r.routes.dependsOnConsent(seen) {
		next.Wake = earlier(next.Wake, seen.Now.Add(consentRetry))
	}
	if next.Wake.IsZero() {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: max(next.Wake.Sub(r.clock.Now()), time.Millisecond)}, nil
}

func (r *Rollouts) carryOut(ctx context.Context, seen plan.Observed) (plan.Plan, error) {
	next, err := r.decide(ctx, seen)
	if err != nil {
		return next, err
	}
	r.gather(seen, &next)
	if next.Writes() {
		if err := r.compare(ctx, seen); err != nil {
			return next, err
		}
	}
	r.logNotes(ctx, "rollout", client.ObjectKeyFromObject(seen.Rollout), next.Notes, next.Writes())
	if next.Writes() {
		telemetry.Wrote(ctx)
	}
	ctx, tell := r.traces.Begin(ctx, seen.Rollout, next)
	if err = r.apply(ctx, seen, next); err == nil {
		err = r.label(ctx, seen, &next)
	}
	tell(err)
	if err != nil {
		return next, err
	}
	if next.Record != nil {
		r.memory.recorded(client.ObjectKeyFromObject(seen.Rollout), seen.Now)
		r.meters.Updated(&next.Record.From.Status, &next.Record.To.Status)
	}
	return next, nil
}

// gather leaves a record out that can wait, until the last one is old enough.
func (r *Rollouts) gather(seen plan.Observed, p *plan.Plan) {
	if p.Record == nil {
		r.memory.settled(client.ObjectKeyFromObject(seen.Rollout))
		return
	}
	if !p.Record.CanWait {
		return
	}
	due := r.memory.recordDue(client.ObjectKeyFromObject(seen.Rollout), seen.Now)
	if due.IsZero() {
		return
	}
	p.Record = nil
	if p.Wake.IsZero() || due.Before(p.Wake) {
		p.Wake = due
	}
}

// decide asks the engine, and looks at what it asks for until it asks for nothing more, or too often.
func (r *Rollouts) decide(ctx context.Context, seen plan.Observed) (plan.Plan, error) {
	for range mostLooks {
		if err := ctx.Err(); err != nil {
			return plan.Plan{}, err
		}
		next := r.engine(seen)
		if len(next.Needs) == 0 {
			return next, nil
		}
		for _, need := range next.Needs {
			if err := r.look(ctx, &seen, need); err != nil {
				return plan.Plan{}, err
			}
		}
	}
	return plan.Plan{}, fmt.Errorf("the engine still needs to look at more after %d looks in one pass; this is a bug in the controller", mostLooks)
}

func (r *Rollouts) look(ctx context.Context, seen *plan.Observed, need change.Need) error {
	switch n := need.(type) {
	case change.NeedLiveServices:
		return r.lookAtServices(ctx, seen)
	case change.NeedLiveRouting:
		return r.lookAtRouting(ctx, seen)
	case change.NeedLiveRollout:
		return r.lookAtRollout(ctx, seen)
	case change.NeedLiveExperiment:
		return r.lookAtExperiment(ctx, seen, n.Name)
	case change.NeedPods:
		return r.lookAtPods(ctx, seen, n.Hash)
	}
	panic(fmt.Sprintf("need of unknown kind %T", need)) // the sum is closed
}
