package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	host "github.com/sluice-delivery/sluice/internal/plugin"
	"github.com/sluice-delivery/sluice/internal/plugin/answer"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// longestStepCall is how long a call may take with all that goes before it: the download, the start, and the wait until it is its turn.
const longestStepCall = 15 * time.Minute

// AskStep asks a step plugin for a Rollout. Whatever comes of it is an answer.
type AskStep func(ctx context.Context, ro *v1alpha1.Rollout, call change.StepCall) change.StepAnswer

// stepPlugins are the calls of step plugins that are under way, and the answers that no status has yet. No worker waits for a plugin: its Rollout
// is reconciled again when the answer is there. A restart forgets it all, and asks again.
type stepPlugins struct {
	ask   AskStep
	clock clock.PassiveClock
	start func(func())
	// look adds Rollouts to the queue. It is set before the first pass.
	look func(types.NamespacedName)

	mu    sync.Mutex
	known map[types.NamespacedName]*stepCalls
}

// stepCalls are those of one Rollout: one at a time.
type stepCalls struct {
	rollout types.UID
	flying  bool
	landed  []change.StepAnswer
}

func newStepPlugins(p Deps) *stepPlugins {
	s := &stepPlugins{ask: p.AskStep, clock: p.Clock, start: p.Go, look: func(types.NamespacedName) {}, known: map[types.NamespacedName]*stepCalls{}}
	if s.start == nil {
		s.start = func(do func()) { go survive(p.Log, do) }
	}
	if s.ask == nil {
		s.ask = stepHost{p.Plugins}.ask
	}
	return s
}

// Announce adds Rollouts to a queue when their step plugins have answered.
func (r *RolloutReconciler) Announce(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.steps.look = func(key types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: key}) }
	return nil
}

// answers are those for a Rollout that no status has yet. Those for an earlier object of that name are forgotten, as soon as they are there.
func (s *stepPlugins) answers(ro *v1alpha1.Rollout) []change.StepAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.known[client.ObjectKeyFromObject(ro)]
	if calls == nil || calls.rollout != ro.UID {
		return nil
	}
	return calls.landed
}

// carriedOut forgets the answers that a plan has dealt with, and makes the call that it asks for, unless it is under way.
func (s *stepPlugins) carriedOut(seen plan.Observed, next plan.Plan) {
	key := client.ObjectKeyFromObject(seen.Rollout)
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.known[key]
	switch {
	case calls == nil && len(next.Calls) == 0:
		return
	case calls == nil || calls.rollout != seen.Rollout.UID:
		calls = &stepCalls{rollout: seen.Rollout.UID}
		s.known[key] = calls
	}
	calls.landed = calls.landed[min(next.Heard, len(calls.landed)):]
	if len(next.Calls) > 0 && !calls.flying && len(calls.landed) == 0 {
		calls.flying = true
		ro, call := forStep(seen, next), next.Calls[0]
		s.start(func() { s.fly(key, calls, ro, call) })
	}
	if !calls.flying && len(calls.landed) == 0 {
		delete(s.known, key)
	}
}

// forStep is a Rollout as step plugins get it: as it was recorded, and with the template that it takes from a workload.
func forStep(seen plan.Observed, next plan.Plan) *v1alpha1.Rollout {
	ro := seen.Rollout
	if next.Record != nil {
		ro = next.Record.To
	}
	written, _ := spec.WithWorkload(ro, seen.Workload)
	sent := forPlugin(written)
	return &sent
}

// fly makes a call.
func (s *stepPlugins) fly(key types.NamespacedName, calls *stepCalls, ro *v1alpha1.Rollout, call change.StepCall) {
	ctx, cancel := context.WithTimeout(context.Background(), longestStepCall)
	defer cancel()
	asked := s.clock.Now()
	said := change.StepAnswer{Error: "the call panicked; see the controller's log"}
	defer func() {
		said = answer.Step(said, ro.Status, call)
		said.StepKey, said.Asked = call.StepKey, asked
		s.mu.Lock()
		calls.flying, calls.landed = false, append(calls.landed, said)
		wanted := s.known[key] == calls
		s.mu.Unlock()
		if wanted {
			s.look(key)
		}
	}()
	said = s.ask(ctx, ro, call)
}

// forget drops what is known of a Rollout that is gone.
func (s *stepPlugins) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, key)
}

// stepHost asks the processes of plugins.
type stepHost struct{ plugins *host.Host }

func (h stepHost) ask(ctx context.Context, ro *v1alpha1.Rollout, call change.StepCall) change.StepAnswer {
	id := host.ID{Kind: plugin.Step, Name: call.Name}
	if h.plugins == nil {
		return change.StepAnswer{Error: id.String() + " cannot be asked here"}
	}
	entry, err := h.plugins.Find(ctx, id)
	switch {
	case err != nil:
		return change.StepAnswer{Error: err.Error()}
	case entry.Disabled:
		return change.StepAnswer{Disabled: true}
	}
	about := &plugin.StepContext{PluginName: call.Name, Config: call.Config, Status: call.Status}
	q := host.Question{ID: id, Tenant: ro.Namespace, Method: string(call.Operation)}
	switch call.Operation {
	case v1alpha1.StepPluginTerminate:
		q.Args = plugin.StepTerminateArgs{Rollout: ro, Context: about}
	case v1alpha1.StepPluginAbort:
		q.Args = plugin.StepAbortArgs{Rollout: ro, Context: about}
	default:
		q.Args = plugin.StepRunArgs{Rollout: ro, Context: about}
	}
	said, err := host.Ask[plugin.StepResponse](ctx, h.plugins, q)
	switch {
	case err != nil:
		return change.StepAnswer{Error: err.Error()}
	case said.Error.ErrorString != "":
		return change.StepAnswer{Error: said.Error.ErrorString}
	}
	r := said.Result
	return change.StepAnswer{Phase: r.Phase, Message: r.Message, RequeueAfter: r.RequeueAfter, Status: r.Status}
}
