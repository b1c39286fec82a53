// Package pluginstep is what a pass does about steps that plugins carry out: which plugin is to be asked what, and what its answers mean.
//
// A step is run until the plugin says that it is done. The status has an entry before the first call, so that an abort knows that
// there may have been one. There is one call at a time, and every plan asks for it until the status has its answer: an answer that is lost is asked
// for again with what was recorded, never guessed.
package pluginstep

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// usualWait is when a plugin is asked again that has failed, or that does not say when; shortestWait is what it must ask for at least.
const usualWait, shortestWait = 30 * time.Second, 10 * time.Second

// Plugins is what a pass does about step plugins.
type Plugins struct {
	world   *world.World
	update  *progress.Progress
	journal *change.Journal

	// Calls is what plugins are to be asked behind the record, Heard how many answers were taken in.
	Calls []change.StepCall
	Heard int
}

// New has not asked for anything.
func New(w *world.World, u *progress.Progress, j *change.Journal) *Plugins {
	return &Plugins{world: w, update: u, journal: j}
}

// Hear takes in what plugins have answered. What nobody waits for any more is passed over.
func (p *Plugins) Hear() {
	for _, a := range p.world.StepAnswers {
		run := p.update.StepPlugin(a.Index, v1alpha1.StepPluginRun)
		switch {
		case run == nil || p.key(run, a.Operation) != a.StepKey:
		case a.Operation == v1alpha1.StepPluginRun:
			p.ran(run, a)
		case a.Operation == p.windsUpBy() && p.update.StepPlugin(a.Index, a.Operation) == nil:
			p.woundUp(a)
		}
	}
	p.Heard = len(p.world.StepAnswers)
}

// key tells a call from others.
func (p *Plugins) key(run *v1alpha1.StepPluginStatus, operation v1alpha1.StepPluginOperation) change.StepKey {
	key := change.StepKey{
		PodHash: p.update.Is.CurrentPodHash, StepHash: p.update.Is.CurrentStepHash,
		Index: run.Index, Name: run.Name, Operation: operation, Executions: run.Executions,
	}
	if run.StartedAt != nil {
		key.Began = run.StartedAt.Unix()
	}
	return key
}

// ran records what came of running a step.
func (p *Plugins) ran(e *v1alpha1.StepPluginStatus, a change.StepAnswer) {
	if e.FinishedAt != nil || e.Disabled {
		return
	}
	if a.Disabled {
		*e = v1alpha1.StepPluginStatus{Index: e.Index, Name: e.Name, Operation: e.Operation, Disabled: true}
		return
	}
	before, first, now := e.Phase, e.Executions == 0, p.world.Second()
	e.Executions++
	e.UpdatedAt = new(p.world.NextSecond())
	e.Phase, e.Message = outcome(a, e.Phase)
	if e.Phase != v1alpha1.StepPluginError {
		e.Status = a.Status
	}
	wait := usualWait
	switch e.Phase {
	case v1alpha1.StepPluginSuccessful, v1alpha1.StepPluginFailed:
		wait, e.FinishedAt = 0, &now
	case v1alpha1.StepPluginRunning:
		if a.RequeueAfter > shortestWait {
			wait = a.RequeueAfter
		}
	case v1alpha1.StepPluginError:
	}
	if e.Backoff = ""; wait > 0 {
		e.Backoff = v1alpha1.DurationString(wait.String())
	}
	if (first || before != e.Phase) && e.Phase != v1alpha1.StepPluginSuccessful {
		p.tell(e, "transitioned to %s")
	}
}

// woundUp records what came of stopping or undoing a step, which is not tried twice.
func (p *Plugins) woundUp(a change.StepAnswer) {
	now := p.world.Second()
	e := v1alpha1.StepPluginStatus{Index: a.Index, Name: a.Name, Operation: a.Operation, Disabled: a.Disabled, FinishedAt: &now}
	if !a.Disabled {
		e.StartedAt = new(metav1.NewTime(a.Asked.Truncate(time.Second)))
		if e.Phase, e.Message = outcome(a, v1alpha1.StepPluginSuccessful); e.Phase == v1alpha1.StepPluginRunning {
			e.Phase = v1alpha1.StepPluginFailed
		}
		done := map[v1alpha1.StepPluginOperation]string{v1alpha1.StepPluginTerminate: "terminated (%s)", v1alpha1.StepPluginAbort: "aborted (%s)"}
		p.tell(&e, done[a.Operation])
	}
	p.update.Is.Canary.StepPluginStatuses = append(p.update.Is.Canary.StepPluginStatuses, e)
}

// outcome is what an answer means; without a phase it is another one.
func outcome(a change.StepAnswer, without v1alpha1.StepPluginPhase) (v1alpha1.StepPluginPhase, string) {
	switch phase := cmp.Or(v1alpha1.StepPluginPhase(a.Phase), without); {
	case a.Error != "":
		return v1alpha1.StepPluginError, clean.Text(a.Error)
	case slices.Contains([]v1alpha1.StepPluginPhase{
		v1alpha1.StepPluginRunning, v1alpha1.StepPluginSuccessful, v1alpha1.StepPluginFailed, v1alpha1.StepPluginError,
	}, phase):
		return phase, clean.Text(a.Message)
	}
	return v1alpha1.StepPluginError, clean.Text(fmt.Sprintf("phase '%s' is not valid", a.Phase))
}

// tell publishes what became of a step.
func (p *Plugins) tell(e *v1alpha1.StepPluginStatus, became string) {
	bad := e.Phase == v1alpha1.StepPluginError || e.Phase == v1alpha1.StepPluginFailed
	p.journal.Report(bad, v1alpha1.EventStepPluginTransition, "Step plugin %s (step %d) "+became, e.Name, e.Index+1, e.Phase)
}

// Passed reports whether the plugin has done the current step, or else what it waits for. It begins when the status has the step, as all that
// steps do.
func (p *Plugins) Passed(s spec.RunPlugin) (passed bool, missing string) {
	at := p.update.At()
	run := p.update.StepPlugin(at, v1alpha1.StepPluginRun)
	if run == nil {
		if !p.update.StepRecorded() {
			return false, "the plugin is called next"
		}
		entries := &p.update.Is.Canary.StepPluginStatuses
		*entries = append(*entries, v1alpha1.StepPluginStatus{
			Index: at, Name: s.Name, Operation: v1alpha1.StepPluginRun, Phase: v1alpha1.StepPluginRunning, StartedAt: new(p.world.Second()),
		})
		run = &(*entries)[len(*entries)-1]
	}
	switch {
	case run.Disabled, run.Phase == v1alpha1.StepPluginSuccessful:
		return true, ""
	case run.Phase == v1alpha1.StepPluginFailed:
		p.update.Failure = fmt.Sprintf("Step Plugin %d (%s) failed: %s", at+1, s.Name, run.Message)
		return false, p.update.Failure
	case p.update.StepPlugin(at, v1alpha1.StepPluginTerminate, v1alpha1.StepPluginAbort) != nil:
		return true, ""
	}
	if again := due(run); p.world.Now.Before(again) {
		p.journal.WakeAt(again)
		missing = fmt.Sprintf("plugin %s is %s", s.Name, run.Phase)
		if run.Message != "" {
			missing += ": " + run.Message
		}
		return false, missing
	}
	p.call(run, v1alpha1.StepPluginRun, s.Config)
	return false, fmt.Sprintf("plugin %s is being asked", s.Name)
}

// due is when a step is run again.
func due(run *v1alpha1.StepPluginStatus) time.Time {
	if run.Executions == 0 || run.UpdatedAt == nil {
		return time.Time{}
	}
	wait, err := run.Backoff.Duration()
	if err != nil || run.Backoff == "" {
		wait = usualWait
	}
	return run.UpdatedAt.Add(wait)
}

func (p *Plugins) call(run *v1alpha1.StepPluginStatus, operation v1alpha1.StepPluginOperation, config json.RawMessage) {
	p.Calls = append(p.Calls, change.StepCall{StepKey: p.key(run, operation), Config: config, Status: run.Status})
}

// windsUpBy is what plugins are asked when the update has ended before all steps were done; empty while it goes on.
func (p *Plugins) windsUpBy() v1alpha1.StepPluginOperation {
	switch p.update.State() {
	case progress.Aborted:
		return v1alpha1.StepPluginAbort
	case progress.PromotedInFull, progress.Settled:
		return v1alpha1.StepPluginTerminate
	case progress.Updating:
	}
	return ""
}

// WindUp has plugins undo their steps after an abort, the last one first, or stop the last one after a full promotion: one call at a time.
func (p *Plugins) WindUp() {
	operation := p.windsUpBy()
	if operation == "" {
		return
	}
	entries := p.update.Is.Canary.StepPluginStatuses
	for i := len(entries) - 1; i >= 0; i-- {
		run := &entries[i]
		undoes := operation == v1alpha1.StepPluginAbort && run.Phase == v1alpha1.StepPluginSuccessful
		if run.Operation != v1alpha1.StepPluginRun || run.Phase != v1alpha1.StepPluginRunning && !undoes {
			continue
		}
		step, ok := p.step(run)
		if ok && p.update.StepPlugin(run.Index, operation) == nil {
			p.journal.Note(change.TopicWait, fmt.Sprintf("step %d (%s): %s", run.Index+1, step, operation), "the plugin is being asked")
			p.call(run, operation, step.Config)
			return
		}
		if operation == v1alpha1.StepPluginTerminate {
			return
		}
	}
}

// step is the step of an entry, if there still is one.
func (p *Plugins) step(run *v1alpha1.StepPluginStatus) (spec.RunPlugin, bool) {
	step, ok := p.world.Step(run.Index).(spec.RunPlugin)
	return step, ok && step.Name == run.Name
}
