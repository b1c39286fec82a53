package shell

import (
	"cmp"
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// work is what there is to do for one kind of object: one of the controllers of a process.
type work struct {
	queue     *queue
	reconcile func(context.Context, reconcile.Request) (reconcile.Result, error)
}

func (p *process) work(how func(context.Context, reconcile.Request) (reconcile.Result, error)) *work {
	w := &work{queue: newQueue(p.shell.World), reconcile: how}
	p.works = append(p.works, w)
	return w
}

// makePass makes a pass, if one is due. There is one at a time, of whatever kind.
func (p *process) makePass() {
	w := slices.MinFunc(p.works, func(a, b *work) int {
		_, x := a.queue.next()
		_, y := b.queue.next()
		if x.IsZero() || y.IsZero() {
			return cmp.Compare(y.Unix(), x.Unix()) // never is last
		}
		return x.Compare(y)
	})
	r, ok := w.queue.take()
	if !ok {
		return
	}
	p.key, p.spent = r, Spent{}
	p.working, p.decided, p.begins, p.writes, p.pass, p.tried, p.judged = true, false, false, -1, sim.Pass{}, nil, nil
	if p.shell.Fate.Happens("pass crashes", p.shell.Weather.Crash) {
		p.writes = p.shell.Fate.OneOf("crash after", 4)
	}
	defer p.survive(func() {
		p.working = false
		p.shell.OnSpent(p.key.NamespacedName, p.spent)
		p.tellPass()
	})
	result, err := w.reconcile(context.Background(), r)
	if p.parts.Asks != nil {
		result, err = p.parts.Asks(result, err)
	}
	if p.begins {
		p.begins, p.decided = false, false // it was put off, as a pass is that the caches are too late for, or can wait
	}
	switch {
	case err != nil:
		p.pass.Conflict = true
		w.queue.AddRateLimited(r)
	case result.RequeueAfter > 0:
		w.queue.Forget(r)
		w.queue.AddAfter(r, result.RequeueAfter)
	default:
		w.queue.Forget(r)
	}
}

// survive is the World's, when something of the process is over, or the process crashed in it.
func (p *process) survive(then func()) {
	if broken := recover(); broken != nil {
		if _, crashed := broken.(crash); !crashed {
			panic(broken)
		}
		p.pass.Crashed = true
		if p.shell.leader == p {
			p.shell.crashed()
		}
	}
	then()
}

// plans notes what the engine decided about a Rollout, if it needed to know nothing more.
func (p *process) plans(o plan.Observed, next plan.Plan) {
	p.ask()
	if len(next.Needs) > 0 {
		return
	}
	p.decides(next.Writes())
	p.pass = sim.Pass{Observed: o, Plan: next, Outcome: sim.Outcome{Idle: p.pass.Idle, Writes: p.pass.Writes}}
	p.pass.Plan.Events = nil
	for _, i := range p.informers {
		p.pass.Stale = p.pass.Stale || i.behind()
	}
	p.pass.Unseen, p.pass.UnseenEvictions = p.informer(replicaSets).unreported()
	if !p.begins {
		p.tellPlan()
	}
}

// tries notes what was decided about an Experiment.
func (p *process) tries(o experiment.Observed, next experiment.Plan) {
	p.ask()
	if next.NeedsRollout {
		return
	}
	p.decides(next.Writes())
	p.tried = &sim.ExperimentPass{Observed: o, Plan: next}
}

// judges notes what was decided about an AnalysisRun. That it is carried out is not put off.
func (p *process) judges(o measure.Observed, next measure.Plan) {
	p.ask()
	if next.NeedsArguments {
		return
	}
	p.decides(false)
	p.judged = &sim.AnalysisPass{Observed: o, Plan: next}
}

// decides notes that something was decided. If it will be written, OnPlan is called before the first write.
func (p *process) decides(writes bool) { p.decided, p.begins = true, writes }
