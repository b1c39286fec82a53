package shell

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/controller"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// process is one process of the controller, from its start to its end.
type process struct {
	shell     *Shell
	parts     Parts
	rollouts  *controller.Rollouts
	queue     *queue
	informers map[kind]*informer
	// standby: it followed its watches before it led.
	standby bool

	// working: a pass is under way; pass is what came of it so far, and decided whether anything did.
	working, decided bool
	pass             sim.Pass
	// begins: the first write of what was decided is to come, unless the shell puts it off.
	begins bool
	// writes is how many more writes it does before it crashes, negative for no end.
	writes int
}

// crash is what a process panics with that is to end between two writes.
type crash struct{}

func newProcess(s *Shell, standby bool) *process {
	p := &process{shell: s, queue: newQueue(s.World), informers: map[kind]*informer{}, standby: standby, writes: -1}
	caches := &caches{p}
	c := &apiClient{process: p, caches: caches}
	log, meters := silent()
	p.parts = Parts{Parts: controller.Parts{
		Clock: virtual{s.World}, Client: c, Live: live{p}, Cache: caches, Sets: caches, Mapper: mapper, Events: recorder{p}, Log: log, Meters: meters,
		Engine: s.Engine,
	}}
	if s.Break != nil {
		s.Break(&p.parts)
	}
	decide := p.parts.Engine
	p.parts.Engine = func(o plan.Observed) plan.Plan {
		next := decide(o)
		p.plans(o, next)
		return next
	}
	p.rollouts = controller.NewRollouts(p.parts.Parts)
	p.must(controller.Index(context.Background(), caches, true))
	p.rollouts.Follow(func(_ cache.Cache, what client.Object, to handler.EventHandler) error {
		p.informer(kindOf(what)).register(registration{EventHandler: to})
		return nil
	})
	p.informer(kinds[0]).register(registration{EventHandler: &handler.EnqueueRequestForObject{}})
	watches := p.rollouts.Watches(false)
	if p.parts.Watches != nil {
		watches = p.parts.Watches(watches)
	}
	for _, w := range watches {
		p.informer(kindOf(w.Object)).register(registration{w.Handler, w.Predicates})
	}
	return p
}

// informer is the cache of a kind, which is filled when it is asked for first.
func (p *process) informer(k kind) *informer {
	i := p.informers[k]
	if i == nil {
		i = &informer{changes: p.shell.changes[k], shell: p.shell, queue: p.queue, indices: map[string]client.IndexerFunc{}}
		p.informers[k] = i
		back := 0
		if p.standby && p.shell.happens(p.shell.Weather.Late) {
			back = p.shell.Rand.IntN(4)
		}
		i.fill(back)
	}
	return i
}

// hear has all watches hear of what changed.
func (p *process) hear() {
	for _, k := range kinds {
		if i := p.informers[k]; i != nil {
			i.hear()
		}
	}
}

// due is when a watch tells of something, or a pass is due.
func (p *process) due() time.Time {
	var due time.Time
	if !p.working {
		_, due = p.queue.next()
	}
	for _, i := range p.informers {
		if !i.at.IsZero() && (due.IsZero() || i.at.Before(due)) {
			due = i.at
		}
	}
	return due
}

// tell lets the watches tell of what is due, and reports whether one did.
func (p *process) tell() bool {
	told := false
	for _, k := range kinds {
		if i := p.informers[k]; i != nil && !i.at.IsZero() && !i.at.After(p.shell.World.Now()) {
			i.tell()
			told = true
		}
	}
	return told
}

// work makes a pass, if one is due.
func (p *process) work() {
	r, ok := p.queue.take()
	if !ok {
		return
	}
	p.working, p.decided, p.begins, p.writes, p.pass = true, false, false, -1, sim.Pass{}
	if p.shell.happens(p.shell.Weather.Crash) {
		p.writes = p.shell.Rand.IntN(4)
	}
	defer func() {
		p.working = false
		if broken := recover(); broken != nil {
			if _, crashed := broken.(crash); !crashed {
				panic(broken)
			}
			p.pass.Crashed = true
			if p.shell.leader == p {
				p.shell.crashed()
			}
		}
		p.tellPass()
	}()
	result, err := p.rollouts.Reconcile(context.Background(), r)
	if p.parts.Asks != nil {
		result, err = p.parts.Asks(result, err)
	}
	if p.begins {
		p.begins, p.decided = false, false // it was put off, as a pass is that the caches are too late for, or can wait
	}
	switch {
	case err != nil:
		p.pass.Conflict = true
		p.queue.AddRateLimited(r)
	case result.RequeueAfter > 0:
		p.queue.Forget(r)
		p.queue.AddAfter(r, result.RequeueAfter)
	default:
		p.queue.Forget(r)
	}
}

// plans notes what the engine decided, if it needed to know nothing more.
func (p *process) plans(o plan.Observed, next plan.Plan) {
	if len(next.Needs) > 0 {
		return
	}
	p.decided = true
	p.pass = sim.Pass{Observed: o, Plan: next, Outcome: sim.Outcome{Idle: p.pass.Idle, Writes: p.pass.Writes}}
	p.pass.Plan.Events = nil
	for _, i := range p.informers {
		p.pass.Stale = p.pass.Stale || i.heard < len(i.all)
	}
	p.pass.Unseen, p.pass.UnseenEvictions = p.informer(replicaSets).unreported()
	if p.begins = next.Writes(); !p.begins {
		p.shell.OnPlan(p.pass)
	}
}

func (p *process) tellPass() {
	if p.decided {
		p.shell.OnPass(p.pass)
	}
}

func (p *process) must(err error) {
	if err != nil {
		panic(err) // the World refuses nothing of the kind
	}
}

// virtual is the World's clock.
type virtual struct{ *sim.World }

// Since is the time since another.
func (v virtual) Since(t time.Time) time.Duration { return v.Now().Sub(t) }

// recorder hears what is told.
type recorder struct{ *process }

// Event notes an event.
func (r recorder) Event(_ runtime.Object, kind, reason, message string) {
	r.pass.Plan.Events = append(r.pass.Plan.Events, plan.Event{Warning: kind == "Warning", Reason: reason, Message: message})
}

// Eventf is for nobody here.
func (recorder) Eventf(runtime.Object, string, string, string, ...any) { panic(errNobody) }

// AnnotatedEventf is for nobody here.
func (recorder) AnnotatedEventf(runtime.Object, map[string]string, string, string, string, ...any) {
	panic(errNobody)
}

var errNobody = errors.New("the shell of Rollouts does not call this: model it first")

func request(ro *v1alpha1.Rollout) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(ro)}
}
