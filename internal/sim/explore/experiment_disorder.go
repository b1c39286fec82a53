package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// experimentDisturbance is something that people or fate do to Experiments.
type experimentDisturbance struct {
	often int
	name  string
	do    func(l *laboratory)
}

// experimentDisturbances happen in all histories.
var experimentDisturbances = []experimentDisturbance{
	{3, "terminate", func(l *laboratory) {
		l.edit(func(ex *v1alpha1.Experiment) { ex.Spec.Terminate = true })
	}},
	{3, "try again", func(l *laboratory) { // the command retry experiment, which is for those that are over
		l.edit(func(ex *v1alpha1.Experiment) {
			if analysis.Ended(ex.Status.Phase) {
				ex.Spec.Terminate, ex.Status = false, v1alpha1.ExperimentStatus{}
			}
		})
	}},
	{1, "delete an experiment", func(l *laboratory) {
		if ex := l.any(); ex != nil {
			l.world.DeleteExperiment(ex.Name)
		}
	}},
	{1, "delete an analysis", func(l *laboratory) {
		if runs := l.world.Runs(); len(runs) > 0 {
			l.world.DeleteRun(runs[l.IntN(len(runs))].Name)
		}
	}},
	{1, "delete a ReplicaSet", func(l *laboratory) { l.world.DeleteReplicaSet(l.image()) }},
	{1, "delete a Service", func(l *laboratory) {
		for _, ex := range l.world.Experiments() {
			for _, t := range ex.Status.TemplateStatuses {
				if t.ServiceName != "" && l.IntN(2) == 0 {
					l.world.DeleteService(t.ServiceName)
				}
			}
		}
	}},
	{3, "kill pods", func(l *laboratory) { l.world.Kill(l.image(), 1+l.IntN(3)) }},
	{3, "flapping pods", func(l *laboratory) { l.world.Unready(l.image(), 1+l.IntN(4), time.Duration(1+l.IntN(20))*time.Second) }},
	{2, "break an image", func(l *laboratory) { l.world.SetFate(l.image(), sim.Fate{Broken: true}) }},
	{3, "repair an image", func(l *laboratory) { l.world.SetFate(l.image(), sim.Fate{Start: l.world.PodStart}) }},
	{1, "refuse ReplicaSets", func(l *laboratory) { l.world.Refuse("no more of these") }},
	{2, "allow ReplicaSets", func(l *laboratory) { l.world.Refuse("") }},
	{1, "refuse analyses", func(l *laboratory) { l.world.RefuseRuns("no more of these") }},
	{2, "allow analyses", func(l *laboratory) { l.world.RefuseRuns("") }},
	{1, "quota", func(l *laboratory) { l.world.SetQuota(l.IntN(12)) }},
	{1, "no quota", func(l *laboratory) { l.world.SetQuota(-1) }},
	{1, "delete a template", func(l *laboratory) { l.world.DeleteTemplate(measured[l.IntN(len(measured))]) }},
	{2, "restore the templates", func(l *laboratory) { l.world.RestoreTemplates() }},
	{2, "the clock jumps", func(l *laboratory) { l.world.Jump(time.Duration(l.IntN(120)) * time.Second) }},
	{6, "nothing", func(*laboratory) {}},
}

// aloneDisturbances happen where Experiments stand alone, rolloutDisturbances where they are steps.
var (
	aloneDisturbances = []experimentDisturbance{
		{4, "another experiment", func(l *laboratory) {
			if name := fmt.Sprintf("demo-%d", l.IntN(4)); l.world.Experiment(name) == nil {
				l.world.CreateExperiment(l.experiment(name))
			}
		}},
	}
	rolloutDisturbances = []experimentDisturbance{
		{14, "new image", func(l *laboratory) { l.world.SetImage(l.image()) }},
		{4, "abort", func(l *laboratory) { l.world.Abort() }},
		{5, "retry", func(l *laboratory) { l.world.Retry() }},
		{4, "promote", func(l *laboratory) { l.world.Promote() }},
		{2, "promote full", func(l *laboratory) { l.world.PromoteFull() }},
		{3, "scale", func(l *laboratory) { l.world.Scale(int32(l.IntN(6))) }},
		{2, "pause", func(l *laboratory) { l.world.Pause(true) }},
		{4, "resume", func(l *laboratory) { l.world.Pause(false) }},
		{2, "other steps", func(l *laboratory) { l.world.Edit(l.setSteps) }},
		{1, "an event comes twice", func(l *laboratory) { l.world.Nudge() }},
	}
)

func (l *laboratory) disturb(i int) {
	all := slices.Concat(experimentDisturbances, rolloutDisturbances)
	if l.alone {
		all = slices.Concat(experimentDisturbances, aloneDisturbances)
	}
	total := 0
	for _, d := range all {
		total += d.often
	}
	n := l.IntN(total)
	for _, d := range all {
		if n -= d.often; n < 0 {
			l.user(fmt.Sprintf("[%d] %s", i, strings.ToUpper(d.name)), func() { d.do(l) })
			return
		}
	}
}

// meanwhile does something in the middle of a pass.
func (l *laboratory) meanwhile() {
	if l.calm || l.fault != nil || l.Moves != nil && len(l.Moves) == 0 {
		return
	}
	if l.replay != nil {
		l.interrupt(l.user)
		return
	}
	l.between = true
	defer func() { l.between = false }()
	choices := l.Rand
	l.Rand = l.chaos // the choices of the moves stay as they are without this one
	l.disturb(-1)
	l.Rand = choices
}

// user does something from outside and tells the rules.
func (l *laboratory) user(what string, do func()) {
	if _, name, ok := strings.Cut(what, "] "); ok {
		what = name // without its place among the moves
	}
	l.doing = strings.ToLower(what)
	l.noting(do)
	l.rules.outside(strings.Contains(strings.ToLower(what), "delete"))
	if l.telling {
		l.log("%s %s: %s", l.world.Elapsed(), what, l.summary())
	}
}

// any is one of the Experiments, nil if there is none.
func (l *laboratory) any() *v1alpha1.Experiment {
	all := l.world.Experiments()
	if len(all) == 0 {
		return nil
	}
	return all[l.IntN(len(all))]
}

func (l *laboratory) edit(change func(*v1alpha1.Experiment)) {
	if ex := l.any(); ex != nil {
		l.world.EditExperiment(ex.Name, change)
	}
}

// jumped allows for a clock that was moved. Nobody had that time.
func (l *laboratory) jumped(by time.Duration) {
	l.rules.measured.later(by)
	l.rules.bulletin.later(by)
}

// repair repairs everything that is broken.
func (l *laboratory) repair() {
	l.user("MEND", func() {
		w := l.world
		w.Refuse("")
		w.RefuseRuns("")
		w.SetQuota(-1)
		w.RestoreTemplates()
		for i := 1; i <= 4; i++ {
			w.SetFate(fmt.Sprintf("v%d", i), sim.Fate{Start: w.PodStart})
		}
		if w.Rollout() != nil {
			w.Pause(false)
			if *w.Rollout().Spec.Replicas == 0 {
				w.Scale(1)
			}
		}
	})
}
