package shell

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// errand is something that outlives the pass that began it: a measurement, or a write that nobody waits for. In a cluster it is a goroutine;
// here it is a coroutine, which goes on when the World's time has come.
type errand struct {
	next func() (time.Duration, bool)
	stop func()
	// wait has it go on after a while, and reports false if it is to end.
	wait func(time.Duration) bool
	at   time.Time
	// ctx ends the wait, if there is one.
	ctx context.Context //nolint:containedctx // it belongs to what the errand asked for
}

// begin starts an errand as soon as a worker is free.
func (p *process) begin(do func()) {
	if p.ended {
		return // another process leads
	}
	e := &errand{at: p.shell.World.Now().Add(p.shell.World.Lag())}
	if p.shell.Fate.Happens("errand waits", p.shell.Weather.Slow) {
		e.at = e.at.Add(p.shell.Fate.UpTo("errand waited", longestErrand))
	}
	e.next, e.stop = iter.Pull(func(yield func(time.Duration) bool) {
		e.wait = yield
		do()
	})
	p.errands = append(p.errands, e)
}

// dueAt is when an errand goes on.
func (e *errand) dueAt(now time.Time) time.Time {
	if e.ctx != nil && e.ctx.Err() != nil && e.at.After(now) {
		return now
	}
	return e.at
}

// run lets an errand go on that is due, and reports whether there was one.
func (p *process) run() (ran bool) {
	now := p.shell.World.Now()
	i := slices.IndexFunc(p.errands, func(e *errand) bool { return !e.dueAt(now).After(now) })
	if i < 0 {
		return false
	}
	p.writes = -1
	if p.shell.Fate.Happens("errand crashes", p.shell.Weather.Crash) {
		p.writes = p.shell.Fate.OneOf("errand writes", 2)
	}
	defer p.survive(func() { ran = true })
	p.resume(p.errands[i])
	return true
}

func (p *process) resume(e *errand) {
	p.current = e
	defer func() { p.current = nil }()
	wait, goesOn := e.next()
	e.at = p.shell.World.Now().Add(wait)
	if !goesOn {
		p.errands = slices.DeleteFunc(p.errands, func(have *errand) bool { return have == e })
	}
}

// end ends all errands.
func (p *process) end() {
	p.ended = true
	p.cancel()
	for _, e := range p.errands {
		e.stop()
	}
	p.errands = nil
}

// providers are simulated: what they answer, and when, is the World's affair.
func (p *process) providers() registry.Registry { return registry.Registry{"web": provider{p}} }

type provider struct{ *process }

// atOnce is what providers answer to other namespaces.
var atOnce = sim.Measurement{Reading: metric.Reading{Value: "1"}}

// Measure measures once.
func (p provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	e, m := p.current, atOnce
	if r.Run.Namespace == sim.Home {
		m = p.shell.Measure(r)
	}
	if m.Takes > 0 {
		e.ctx = ctx
		if !e.wait(m.Takes) || ctx.Err() != nil {
			return metric.Reading{}, context.Cause(ctx)
		}
	}
	if m.Err != "" {
		return metric.Reading{}, errors.New(m.Err)
	}
	return m.Reading, nil
}

// askStep asks a step plugin, which takes its time.
func (p *process) askStep(_ context.Context, _ *v1alpha1.Rollout, call change.StepCall) change.StepAnswer {
	e := p.current
	reply := p.shell.AskStep(call)
	if reply.Takes > 0 && !e.wait(reply.Takes) {
		return change.StepAnswer{Error: "the process ends"}
	}
	return reply.StepAnswer
}
