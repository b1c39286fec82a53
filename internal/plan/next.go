package plan

import (
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/canary"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/judge"
	"github.com/sluice-delivery/sluice/internal/plan/move"
	"github.com/sluice-delivery/sluice/internal/plan/pluginstep"
	"github.com/sluice-delivery/sluice/internal/plan/podmeta"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/restart"
	"github.com/sluice-delivery/sluice/internal/plan/status"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Next is what to do now about a Rollout, as far as what was observed tells. A settled Rollout gets a plan without writes.
func Next(o world.Observed) Plan { return next(o, "") }

// Without is [Next] without one of the mover's rules ([move.Rules]), for tests that want to see what that rule is for.
func Without(rule string) func(world.Observed) Plan {
	return func(o world.Observed) Plan { return next(o, rule) }
}

func next(o world.Observed, without string) Plan {
	if o.Rollout.DeletionTimestamp != nil {
		return Plan{} // what it owns goes by owner references
	}
	written, problems := spec.WithWorkload(o.Rollout, o.Workload)
	r, others := spec.Resolve(written)
	problems = append(append(problems, others...), o.Policy.Problems(r)...)
	problems = append(problems, unreadableAbort(o.Rollout)...)
	p := newPass(o, r, without)
	if len(problems) > 0 {
		p.status.Refuse(problems)
		return p.done()
	}
	if p.adopts() {
		return p.done()
	}
	if o.CreateFailure != nil {
		p.cannotCreate()
		return p.done()
	}
	if p.update.Begins() && p.restart.Unreported() {
		return p.done()
	}
	p.revise()
	p.restart.Look()
	p.judge.SeeRuns()
	p.plugins.Hear()
	if p.update.Is.StableRS == "" {
		p.update.Promote("Initial deploy")
	}
	switch strategy := r.Strategy.(type) {
	case spec.Canary:
		p.update.Is.BlueGreen = v1alpha1.BlueGreenStatus{}
		p.setPodMetadata(strategy.AntiAffinity)
		p.canary.Run(strategy)
	case spec.BlueGreen:
		p.update.Is.Canary = v1alpha1.CanaryStatus{}
		p.setPodMetadata(strategy.AntiAffinity)
		p.runBlueGreen(strategy)
	}
	p.restart.Replace()
	p.takeOver()
	p.plugins.WindUp()
	p.judge.CheckAnalyses()
	p.judge.EndRuns()
	p.judge.EndExperiments()
	p.forget()
	p.judge.ForgetRuns()
	p.judge.ForgetExperiments()
	p.status.Conclude()
	return p.done()
}

// setPodMetadata has pods wear the labels and annotations of their version's part, and keeps versions apart.
func (p *pass) setPodMetadata(apart spec.AntiAffinity) {
	p.labels.Separate(apart)
	p.labels.SetMetadata()
}

// done is the plan with all that the pass had to say.
func (p *pass) done() Plan {
	return Plan{
		Grow: p.draft.Grow, Route: p.draft.Route, Judge: p.draft.Judge, Shrink: p.draft.Shrink, Record: p.status.Written, Label: p.draft.Label,
		Calls: p.plugins.Calls, Heard: p.plugins.Heard, Events: p.journal.Events, Notes: p.journal.Notes, Needs: p.journal.Needs, Wake: p.journal.Wake,
	}
}

// unreadableAbort tells a person who aborts an update of which the spec cannot be read that nothing comes of it for now.
func unreadableAbort(ro *v1alpha1.Rollout) []spec.Problem {
	if !ro.Status.Abort || len(ro.Unreadable.Of("spec")) == 0 {
		return nil
	}
	return []spec.Problem{{Field: "status.abort", Text: "the update is aborted as soon as the spec can be read: correct it, or apply the manifest of the stable version"}}
}

// pass is one run of [Next], a room after the other.
type pass struct {
	world   *world.World
	journal *change.Journal
	update  *progress.Progress
	draft   *draft.Draft
	restart *restart.Restart
	labels  *podmeta.Labeler
	mover   *move.Mover
	plugins *pluginstep.Plugins
	judge   *judge.Judge
	canary  *canary.Canary
	status  *status.Status
}

func newPass(o Observed, r spec.Rollout, without string) *pass {
	p := &pass{world: world.New(o, r), journal: &change.Journal{}}
	p.update = progress.New(p.world, p.journal)
	p.draft = draft.New(p.world, p.update, p.journal)
	p.restart = restart.New(p.world, p.update, p.draft, p.journal)
	p.labels = podmeta.New(p.world, p.update, p.draft, p.journal)
	p.judge = judge.New(p.world, p.update, p.draft, p.journal)
	p.mover = move.New(p.world, p.update, p.draft, p.journal, without)
	p.plugins = pluginstep.New(p.world, p.update, p.journal)
	p.canary = canary.New(p.world, p.update, p.restart, p.judge, p.plugins, p.mover, p.journal)
	p.status = status.New(p.world, p.update, p.draft, p.restart, p.labels, p.judge, p.journal)
	return p
}
