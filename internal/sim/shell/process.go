package shell

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/controller"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// process is one process of the controller, from its start to its end.
type process struct {
	shell *Shell
	parts Parts
	// works are what there is to do for each kind, rollouts and analyses two of them; the latter is nil where nobody measures.
	works              []*work
	rollouts, analyses *work
	informers          map[kind]*informer
	// standby: it followed its watches before it led, which began then.
	standby bool
	began   time.Time

	// working: a pass is under way; pass is what came of it so far, and decided whether anything did. One over an Experiment or an
	// AnalysisRun has its decision in tried or judged.
	working, decided bool
	pass             sim.Pass
	tried            *sim.ExperimentPass
	judged           *sim.AnalysisPass
	// key is what the pass is over, spent what it has spent.
	key   reconcile.Request
	spent Spent
	// begins: the first write of what was decided is to come, unless the shell puts it off.
	begins bool
	// writes is how many more writes it does before it crashes, negative for no end.
	writes int

	// errands are what passes have begun and not waited for, which ends with cancel; current is the one that goes on now.
	errands []*errand
	current *errand
	alarms  []*alarm
	cancel  context.CancelFunc
	ended   bool
}

// crash is what a process panics with that is to end between two writes.
type crash struct{}

func newProcess(s *Shell, standby bool) *process {
	p := &process{shell: s, informers: map[kind]*informer{}, standby: standby, began: s.World.Now(), writes: -1}
	caches := &caches{p}
	c := &apiClient{process: p, caches: caches}
	log, meters := silent()
	heard := &recorder{process: p}
	p.parts = Parts{Deps: controller.Deps{
		Clock: virtual{s.World}, Client: c, Live: live{p}, Cache: caches, Sets: caches, Mapper: s.mapper, Events: heard, Log: log, Meters: meters,
		Engine: s.Engine, Experiment: s.Experiment, Measure: s.Judge, Go: p.begin,
	}}
	if s.AskStep != nil {
		p.parts.AskStep = p.askStep
	}
	if s.Break != nil {
		s.Break(&p.parts)
	}
	if s.Measure != nil {
		heard.publisher = controller.NewEvents(alarms{virtual{s.World}, p}, p.parts.Deps)
	}
	p.listen()
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.must(controller.Index(ctx, caches, true))
	rollouts := controller.NewRolloutReconciler(p.parts.Deps)
	p.rollouts = p.work(rollouts.Reconcile)
	rollouts.Follow(func(_ cache.Cache, what client.Object, to handler.EventHandler) error {
		p.informer(kindOf(what)).register(registration{EventHandler: to, queue: p.rollouts.queue})
		return nil
	})
	p.must(rollouts.Announce(ctx, p.rollouts.queue))
	p.watch(p.rollouts, &v1alpha1.Rollout{}, rollouts.Watches(false))
	if s.Measure == nil {
		return p
	}
	experiments := controller.NewExperimentReconciler(p.parts.Deps)
	p.watch(p.work(experiments.Reconcile), &v1alpha1.Experiment{}, experiments.Watches(false))
	runs := controller.NewAnalysisRunReconciler(ctx, p.parts.Deps, p.providers())
	p.analyses = p.work(runs.Reconcile)
	p.must(runs.Announce(ctx, p.analyses.queue))
	p.watch(p.analyses, nil, runs.Watches())
	return p
}

// listen hears what is decided.
func (p *process) listen() {
	decide, try, judge := p.parts.Engine, p.parts.Experiment, p.parts.Measure
	if try == nil {
		try = experiment.Next
	}
	if judge == nil {
		judge = measure.Next
	}
	p.parts.Engine = func(o plan.Observed) plan.Plan {
		next := decide(o)
		p.plans(o, next)
		return next
	}
	p.parts.Experiment = func(o experiment.Observed) experiment.Plan {
		next := try(o)
		p.tries(o, next)
		return next
	}
	p.parts.Measure = func(o measure.Observed) measure.Plan {
		next := judge(o)
		p.judges(o, next)
		return next
	}
}

// watch subscribes a reconciler to the kind it manages, unless that is among its watches, and to what concerns it.
func (p *process) watch(w *work, what client.Object, watches []controller.Watch) {
	if p.parts.Watches != nil {
		watches = p.parts.Watches(watches)
	}
	if what != nil {
		p.informer(kindOf(what)).register(registration{EventHandler: &handler.EnqueueRequestForObject{}, queue: w.queue})
	}
	for _, watch := range watches {
		p.informer(kindOf(watch.Object)).register(registration{watch.Handler, watch.Predicates, w.queue})
	}
}

// informer is the cache of a kind, which is filled when it is asked for first.
func (p *process) informer(k kind) *informer {
	i := p.informers[k]
	if i == nil {
		i = &informer{changes: p.shell.changes[k], shell: p.shell, indices: map[string]client.IndexerFunc{}}
		p.informers[k] = i
		back := 0
		if p.standby && p.shell.Fate.Happens("standby late", p.shell.Weather.Late) {
			back = p.shell.Fate.OneOf("standby behind", 4)
		}
		i.fill(back)
	}
	return i
}

// hear delivers what changed to all watches.
func (p *process) hear() {
	for _, k := range kinds {
		if i := p.informers[k]; i != nil {
			i.hear()
		}
	}
}

// due is when a watch next delivers something, a reconcile is due, or an errand continues.
func (p *process) due() time.Time {
	due := p.first(func(*work) bool { return true }, func(*informer) bool { return true })
	if p.working {
		return due
	}
	for _, e := range p.errands {
		due = earliest(due, e.dueAt(p.shell.World.Now()))
	}
	for _, a := range p.alarms {
		due = earliest(due, a.at)
	}
	return due
}

// dueBesidesMeasuring leaves out what has to do with measurements alone, and what is only told.
func (p *process) dueBesidesMeasuring() time.Time {
	return p.first(func(w *work) bool { return w != p.analyses }, func(i *informer) bool { return i.kind != analysisRuns || !i.measuredOnly() })
}

// first is when the first of some watches delivers something, or the first reconcile of some kinds is due.
func (p *process) first(works func(*work) bool, informers func(*informer) bool) (first time.Time) {
	for _, i := range p.informers {
		if informers(i) {
			first = earliest(first, i.at)
		}
	}
	for _, w := range p.works {
		if _, at := w.queue.next(); works(w) && !p.working {
			first = earliest(first, at)
		}
	}
	return first
}

// earliest is the earlier of two times, where the zero time is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
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

func (p *process) tellPlan() {
	switch {
	case !p.atHome():
	case p.tried != nil:
		p.shell.OnExperimentPlan(*p.tried)
	case p.judged != nil:
	default:
		p.shell.OnPlan(p.pass)
	}
}

func (p *process) tellPass() {
	switch {
	case !p.decided, !p.atHome():
	case p.tried != nil:
		p.tried.Outcome = p.pass.Outcome
		p.shell.OnExperimentPass(*p.tried)
	case p.judged != nil:
		p.judged.Outcome = p.pass.Outcome
		p.shell.OnAnalysisPass(*p.judged)
	default:
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

var errNobody = errors.New("the shell of Rollouts does not call this: model it first")

func request(ro *v1alpha1.Rollout) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(ro)}
}
