package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/telemetry"
	"github.com/sluice-delivery/sluice/internal/telemetry/trace"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// RolloutReconciler carries out what the engine decides about RolloutReconciler.
type RolloutReconciler struct {
	writer
	events record.EventRecorder
	meters *telemetry.Meters
	// traces reports updates; nil if no endpoint is set.
	traces *trace.Updates
	// workloads reads what a workloadRef refers to.
	workloads *workloads
	// routes reads what traffic routers read and write.
	routes *routes
	// plugins are asked to split traffic.
	plugins *pluginRoutes
	// steps are what step plugins are being asked.
	steps *stepPlugins
	// policy is what the operator lets Rollouts do.
	policy spec.Policy
	// routeTimeout is how long to wait for a route to be in force; 0 for not at all.
	routeTimeout time.Duration
	// balancers are asked whether load balancers of AWS forward as Ingresses say; nil where nobody is.
	balancers *balancers
	// unreadableEndpoints has the log say once that EndpointSlices cannot be read.
	unreadableEndpoints sync.Once
	engine              func(plan.Observed) plan.Plan
}

// NewRolloutReconciler returns the reconciler of Rollouts, which can be used once it knows how to follow what they name.
func NewRolloutReconciler(p Deps) *RolloutReconciler {
	r := &RolloutReconciler{writer: newWriter("rollout", p), events: p.Events, meters: p.Meters, policy: p.Policy, engine: p.Engine, routeTimeout: p.RouteTimeout}
	if r.engine == nil {
		r.engine = plan.Next
	}
	r.steps = newStepPlugins(p)
	r.workloads = &workloads{main: p.Cache, sets: p.Sets, referring: r.referring, watched: map[spec.Kind]bool{}}
	r.routes = &routes{cache: p.Cache, live: p.Live, namespace: p.Namespace, policy: p.Policy, mapper: p.Mapper, log: p.Log, concerned: r.concernedBy, granted: r.grantedBy, grants: newGrants()}
	r.plugins = &pluginRoutes{host: p.Plugins, clock: p.Clock, log: p.Log, start: p.Go, known: map[types.NamespacedName]map[string]*pluginRoute{}, noted: map[types.NamespacedName]*v1alpha1.Rollout{}, busy: map[types.NamespacedName]types.UID{}}
	if r.plugins.start == nil {
		r.plugins.start = func(do func()) { go survive(p.Log, do) }
	}
	if p.Balancers != nil {
		r.balancers = &balancers{aws: p.Balancers, clock: p.Clock, start: r.plugins.start, known: map[types.NamespacedName]map[string]*balance{}}
	}
	r.routes.search.left, r.routes.search.granted = routers.Kinds(), p.Granted
	return r
}

// Reconcile is one pass over one Rollout. The first one of a process waits until it was looked for what Rollouts have left in routes.
func (r *RolloutReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	again := r.routes.lookThrough(ctx, req.NamespacedName, r.clock.Now())
	result, err := r.pass(ctx, req)
	if err == nil && again > 0 && (result.RequeueAfter == 0 || again < result.RequeueAfter) {
		result.RequeueAfter = again
	}
	return result, err
}

func (r *RolloutReconciler) pass(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return reconcileObject(ctx, &r.writer, r, req.NamespacedName)
}

func (r *RolloutReconciler) gone(ctx context.Context, key types.NamespacedName) (again time.Duration, err error) {
	r.meters.Forget(telemetry.Rollouts, key)
	r.traces.Forget(key)
	if again, err = r.returnGone(ctx, key); err != nil {
		return 0, err
	}
	if again == 0 {
		r.plugins.forget(key)
	}
	r.steps.forget(key)
	r.balancers.keep(key, nil)
	return again, r.release(ctx, key)
}

func (r *RolloutReconciler) next(seen plan.Observed) plan.Plan { return r.engine(seen) }

func (r *RolloutReconciler) heed(seen *plan.Observed, refused refusal) bool {
	switch refused.kind {
	case experiment.ReplicaSet:
		if seen.CreateFailure != nil {
			return false // the engine has answered that, with another one
		}
		seen.CreateFailure = &refused.CreateFailure
	case experimentKind:
		seen.ExperimentFailures = append(seen.ExperimentFailures, refused.CreateFailure)
	case experiment.AnalysisRun:
		seen.RunFailures = append(seen.RunFailures, refused.CreateFailure)
	case experiment.Service:
		return false // Rollouts create none
	}
	return true
}

func (r *RolloutReconciler) carryOut(ctx context.Context, seen plan.Observed, next plan.Plan) (reconcile.Result, error) {
	key := client.ObjectKeyFromObject(seen.Rollout)
	r.gather(seen, &next)
	if next.Writes() || len(next.Calls) > 0 {
		if err := r.compare(ctx, seen); err != nil {
			return reconcile.Result{}, err
		}
	}
	r.logNotes(ctx, key, next.Notes, next.Writes())
	if next.Writes() {
		telemetry.Wrote(ctx)
	}
	ctx, tell := r.traces.Begin(ctx, seen.Rollout, next)
	err := r.apply(ctx, seen, next)
	if err == nil {
		err = r.label(ctx, seen, &next)
	}
	if tell(err); err != nil {
		return reconcile.Result{}, err
	}
	r.steps.carriedOut(seen, next)
	if next.Record != nil {
		r.memory.recorded(key, seen.Now)
		r.meters.Updated(&next.Record.From.Status, &next.Record.To.Status)
	}
	if err := r.forgetPlugins(ctx, seen, next); err != nil {
		return reconcile.Result{}, err
	}
	again, err := r.tellBalancers(ctx, seen, next)
	if err != nil {
		return reconcile.Result{}, err
	}
	if again > 0 {
		next.Wake = earlier(next.Wake, seen.Now.Add(again))
	}
	if r.routes.waitsForConsent(ctx, seen) || r.routes.waitsForKind(seen.Rollout) {
		next.Wake = earlier(next.Wake, seen.Now.Add(consentRetry))
	}
	if at := r.plugins.retryAt(client.ObjectKeyFromObject(seen.Rollout), pluginNames(seen.Rollout, seen.Policy)); !at.IsZero() {
		next.Wake = earlier(next.Wake, at)
	}
	return r.wakeAt(next.Wake), nil
}

// gather leaves a record out that can wait, until the last one is old enough.
func (r *RolloutReconciler) gather(seen plan.Observed, p *plan.Plan) {
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

func (r *RolloutReconciler) look(ctx context.Context, seen *plan.Observed, p plan.Plan) (needs bool, err error) {
	for _, need := range p.Needs {
		if err := r.lookAt(ctx, seen, need); err != nil {
			return true, err
		}
	}
	return len(p.Needs) > 0, nil
}

func (r *RolloutReconciler) lookAt(ctx context.Context, seen *plan.Observed, need change.Need) error {
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
