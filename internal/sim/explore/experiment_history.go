package explore

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/sim/shell"
)

// laboratory is a history of Experiments: one or two that stand alone, or those of the steps of a canary, basic or with a router. Their
// AnalysisRuns are measured by the engine that does so in a cluster, with outcomes from the seed.
type laboratory struct {
	*history
	// alone: there is no Rollout.
	alone bool
	rules experimentRules
}

func newLaboratory(h *history, s Subject) *laboratory {
	l := &laboratory{history: h}
	h.sow(0)
	h.stir()
	h.create(sim.Options{PodStart: time.Duration(1+h.IntN(15)) * time.Second, Lag: h.lag})
	h.world.jumped = l.jumped
	l.rules = newExperimentRules(l)
	w := h.world
	w.Watch, w.Wrote = l.rules.watch, l.rules.wrote
	l.alone = h.IntN(5) < 2
	if h.replay != nil {
		l.alone = h.replay.alone
	}
	h.begin(func() {
		w.RestoreTemplates()
		if !l.alone {
			w.Create(l.rollout())
			return
		}
		for i := range 1 + h.IntN(2) {
			w.CreateExperiment(l.experiment(fmt.Sprintf("demo-%d", i)))
		}
	})
	if record := h.fate.record; record != nil {
		record.alone = l.alone
	}
	l.control(s)
	return l
}

// control puts the subject in charge.
func (l *laboratory) control(s Subject) {
	h, w := l.history, l.world
	if h.Shell {
		o := shell.Options{
			World: w.World, Routed: true, Fate: h.fate, Engine: s.Engine, Experiment: s.Experiment, Judge: s.Measure, Break: s.Break, Weather: h.weather(),
			Measure: func(r metric.Request) sim.Measurement { return l.measure(r) }, Meanwhile: l.meanwhile,
			OnPass: l.rules.pass, OnExperimentPlan: l.rules.planned, OnExperimentPass: l.rules.experimentPass, OnAnalysisPass: l.rules.analysisPass,
			OnStart: l.rules.startOver, OnTold: l.rules.bulletin.tells, OnEvent: l.rules.bulletin.publishes,
		}
		h.attend(&o)
		h.shell = shell.Control(o)
		return
	}
	if !l.alone {
		w.Control(&sim.Controller{Next: s.Engine, View: l.view, CrashAfter: h.crashAfter, Deaf: h.deafness, OnPass: l.rules.pass})
	}
	w.ControlExperiments(&sim.ExperimentController{
		Next: s.Experiment, View: l.view, CrashAfter: h.crashAfter, OnPlan: l.rules.planned, OnPass: l.rules.experimentPass,
	})
	w.Analyse(&sim.AnalysisController{
		Next: s.Measure, Providers: []string{"web"}, Measure: func(t measure.Task) sim.Measurement { return l.measure(t.Request) },
		View: l.view, CrashAfter: h.crashAfter, OnPass: l.rules.analysisPass,
	})
}

// view is how old what a controller sees is.
func (l *laboratory) view() sim.View {
	return l.fate.view("view", l.anyView)
}

func (l *laboratory) anyView() sim.View {
	v := l.history.anyView()
	if !l.calm && l.chaos.IntN(1000) < l.stale {
		v.Experiments = l.chaos.IntN(5)
		if l.chaos.IntN(4) == 0 {
			return sim.View{Experiments: v.Experiments}
		}
	}
	return v
}

// templatesToMeasure are the AnalysisTemplates: one of each way in which a metric comes to its end.
func templatesToMeasure() analysis.Templates {
	number := func(n int32) *intstr.IntOrString { return new(intstr.FromInt32(n)) }
	all := analysis.Templates{}
	for _, m := range []v1alpha1.Metric{
		{Name: "once"},
		{Name: "thrice", Interval: "5s", Count: number(3), FailureLimit: number(1), InitialDelay: "3s"},
		{Name: "streak", Interval: "4s", Count: number(9), FailureLimit: number(3), ConsecutiveSuccessLimit: number(2), InconclusiveLimit: number(1)},
		{Name: "watch", Interval: "7s", FailureLimit: number(2), ConsecutiveErrorLimit: number(1)},
	} {
		m.Provider.Web = &v1alpha1.WebMetric{URL: "https://test/" + m.Name}
		all[v1alpha1.AnalysisTemplateRef{TemplateName: m.Name}] = &v1alpha1.AnalysisTemplateSpec{Metrics: []v1alpha1.Metric{m}}
	}
	return all
}

var measured = []string{"once", "thrice", "streak", "watch"}

// measure is what comes of a measurement: something good more often than not, mostly at once.
func (l *laboratory) measure(r metric.Request) sim.Measurement {
	v := l.fate.verdict("measured", l.anyMeasurement)
	m := sim.Measurement{Takes: v.after}
	l.rules.measured.asked(r, m)
	m.Phase = v.phase
	if v.phase == v1alpha1.AnalysisPhaseError {
		m.Phase, m.Reading, m.Err = v1alpha1.AnalysisPhaseSuccessful, metric.Reading{}, "nothing answers"
	}
	return m
}

func (l *laboratory) anyMeasurement() verdict {
	v := verdict{
		phase: v1alpha1.AnalysisPhaseSuccessful,
		after: []time.Duration{0, 0, 200 * time.Millisecond, 3 * time.Second, 20 * time.Second}[l.chaos.IntN(5)],
	}
	if l.calm {
		return v
	}
	switch l.chaos.IntN(12) {
	case 0:
		v.phase = v1alpha1.AnalysisPhaseFailed
	case 1:
		v.phase = v1alpha1.AnalysisPhaseError
	case 2:
		v.phase = v1alpha1.AnalysisPhaseInconclusive
	}
	return v
}

// duration is how long an Experiment runs, sometimes until a user ends it.
func (l *laboratory) duration() v1alpha1.DurationString {
	return []v1alpha1.DurationString{"", "10s", "30s", "2m"}[l.IntN(4)]
}

func (l *laboratory) delay() *int32 {
	return []*int32{nil, new(int32(0)), new(int32(5)), new(int32(60))}[l.IntN(4)]
}

// experiment is one that stands alone.
func (l *laboratory) experiment(name string) *v1alpha1.Experiment {
	ex := &v1alpha1.Experiment{}
	ex.Name, ex.Namespace = name, "default"
	s := &ex.Spec
	s.Duration, s.ScaleDownDelaySeconds = l.duration(), l.delay()
	s.ProgressDeadlineSeconds = new(int32(60))
	for i := range 1 + l.IntN(2) {
		like := sim.NewRollout("web", l.image(), 1)
		t := v1alpha1.TemplateSpec{Name: fmt.Sprintf("t%d", i), Replicas: new(int32(1 + l.IntN(3))), Selector: like.Spec.Selector, Template: like.Spec.Template}
		t.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080}}
		if l.IntN(3) == 0 {
			t.Service = &v1alpha1.TemplateService{Name: []string{"", fmt.Sprintf("shared-%d", i)}[l.IntN(2)]}
		}
		s.Templates = append(s.Templates, t)
	}
	for _, name := range measured {
		if l.IntN(3) == 0 {
			s.Analyses = append(s.Analyses, v1alpha1.ExperimentAnalysisTemplateRef{
				Name: name, TemplateName: name, RequiredForCompletion: name != "watch" && l.IntN(2) == 0,
			})
		}
	}
	return ex
}

// rollout is a canary with an experiment among its steps.
func (l *laboratory) rollout() *v1alpha1.Rollout {
	ro := sim.NewRollout("web", "v1", int32(1+l.IntN(5)))
	ro.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080}}
	ro.Spec.ProgressDeadlineSeconds = new(int32(60))
	routed := l.IntN(2) == 0
	if routed {
		if err := l.world.Route(ro, "gateway"); err != nil {
			panic(err)
		}
	}
	l.setSteps(ro)
	return ro
}

// setSteps gives a canary other steps.
func (l *laboratory) setSteps(ro *v1alpha1.Rollout) {
	c := ro.Spec.Strategy.Canary
	c.Steps = nil
	for range 1 + l.IntN(3) {
		switch l.IntN(4) {
		case 0:
			c.Steps = append(c.Steps, v1alpha1.CanaryStep{SetWeight: new(int32(l.IntN(6) * 10))})
		case 1:
			c.Steps = append(c.Steps, v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{Duration: new(intstr.FromInt32(int32(5 + l.IntN(20))))}})
		default:
			c.Steps = append(c.Steps, v1alpha1.CanaryStep{Experiment: l.step(c.TrafficRouting != nil)})
		}
	}
	if l.IntN(3) == 0 {
		c.Steps = append(c.Steps, v1alpha1.CanaryStep{Analysis: analysisFor(measured[l.IntN(3)])})
	}
	c.Analysis = nil
	if l.IntN(4) == 0 {
		c.Analysis = &v1alpha1.RolloutAnalysisBackground{RolloutAnalysis: *analysisFor("watch")}
	}
}

func analysisFor(template string) *v1alpha1.RolloutAnalysis {
	return &v1alpha1.RolloutAnalysis{Templates: []v1alpha1.AnalysisTemplateRef{{TemplateName: template}}}
}

// step is the experiment of a step.
func (l *laboratory) step(routed bool) *v1alpha1.RolloutExperimentStep {
	step := &v1alpha1.RolloutExperimentStep{Duration: l.duration(), ScaleDownDelaySeconds: l.delay()}
	for i := range 1 + l.IntN(2) {
		t := v1alpha1.RolloutExperimentTemplate{
			Name: fmt.Sprintf("t%d", i), SpecRef: []v1alpha1.ReplicaSetSpecRef{"stable", "canary"}[l.IntN(2)], Replicas: new(int32(1 + l.IntN(3))),
		}
		t.Metadata.Labels = map[string]string{"part": t.Name}
		if routed && l.IntN(3) > 0 {
			t.Weight = new(int32(1 + l.IntN(20)))
		}
		step.Templates = append(step.Templates, t)
	}
	for _, name := range measured {
		if l.IntN(3) == 0 {
			step.Analyses = append(step.Analyses, v1alpha1.RolloutExperimentStepAnalysisTemplateRef{
				Name: name, TemplateName: name, RequiredForCompletion: name != "watch" && l.IntN(2) == 0,
			})
		}
	}
	return step
}

// play plays the history and returns what is wrong with it.
func (l *laboratory) play() *Fault {
	if l.shell != nil {
		defer l.shell.Stop()
	}
	l.proceed()
	if l.fault == nil {
		l.end()
	}
	return l.fault
}

// proceed lets people and fate do things.
func (l *laboratory) proceed() {
	if l.replay != nil {
		l.playAgain(l.run, l.user)
		return
	}
	defer l.endRecording()
	l.run(time.Duration(l.IntN(40)) * time.Second)
	if !l.alone { // or nothing would be tried
		l.user("new image", func() { l.world.SetImage("v2") })
	}
	for i := range 4 + l.IntN(most-4) {
		l.sow(uint64(i + 1))
		if l.Moves != nil && !slices.Contains(l.Moves, i) {
			continue
		}
		if l.fault != nil {
			return
		}
		l.disturb(i)
		l.attack(uint64(i + 1))
		gap := []time.Duration{50 * time.Millisecond, 2 * time.Second, 10 * time.Second, time.Minute, 3 * time.Minute}[l.IntN(5)]
		l.run(time.Duration(l.Int64N(int64(gap))))
	}
}

// run lets time pass.
func (l *laboratory) run(d time.Duration) {
	until := l.world.Now().Add(d)
	l.until, l.ran = until.Sub(sim.Start), true
	for l.fault == nil && l.rules.passes < enough && l.world.Step(until) {
		l.goesOn()
	}
	if l.fault == nil && l.rules.passes >= enough {
		l.fail("convergence", "%d passes: %s", l.rules.passes, l.summary())
	}
	if l.fault == nil {
		l.world.Run(until)
		l.rules.rest()
	}
}

// settle lets everything happen that happens on its own, except for measurements without end.
func (l *laboratory) settle() {
	l.rules.passes = 0
	until := l.world.Now().Add(2 * time.Hour)
	for idle := 0; l.fault == nil && l.rules.passes < enough; {
		if !l.world.DueBesidesMeasuring().IsZero() {
			idle = 0
		} else if idle++; l.world.Due().IsZero() || idle > 200 {
			l.rules.rest()
			return
		}
		if !l.world.Step(until) {
			break
		}
		l.goesOn()
	}
	if l.fault == nil {
		l.fail("convergence", "things still happen after two hours, or %d passes: %s", l.rules.passes, l.summary())
	}
}

// end puts an end to all disorder and sees that everything comes to its end too, in bounded time, and then nothing more is done.
func (l *laboratory) end() {
	l.calm = true
	l.clear()
	l.sow(most + 1)
	l.log("%s calm", l.world.Elapsed())
	l.pacify()
	l.repair()
	for range 30 {
		l.settle()
		if l.fault != nil || l.done() {
			break
		}
		l.goOn()
	}
	if l.fault != nil {
		return
	}
	l.rules.end()
	passes := l.rules.passes
	l.run(24 * time.Hour)
	if l.fault == nil && l.rules.passes != passes {
		l.fail("fixpoint", "%d more passes in a day without events", l.rules.passes-passes)
	}
	l.siege(l)
}

func (l *laboratory) again() {
	if !l.alone {
		l.user("new image", func() { l.world.SetImage(l.image()) })
	}
}

// done reports whether there is nothing left to be done, by anybody.
func (l *laboratory) done() bool {
	if ro := l.world.Rollout(); ro != nil && ro.Status.Phase != v1alpha1.RolloutPhaseHealthy {
		return false
	}
	return !slices.ContainsFunc(l.world.Experiments(), func(ex *v1alpha1.Experiment) bool { return !analysis.Ended(ex.Status.Phase) })
}

// goOn is what a person does about what waits for one.
func (l *laboratory) goOn() {
	for _, ex := range l.world.Experiments() {
		if !analysis.Ended(ex.Status.Phase) {
			l.user("terminate "+ex.Name, func() {
				l.world.EditExperiment(ex.Name, func(ex *v1alpha1.Experiment) { ex.Spec.Terminate = true })
			})
			return
		}
	}
	switch s := l.world.Rollout().Status; {
	case s.Abort:
		l.user("retry", l.world.Retry)
	case s.Phase == v1alpha1.RolloutPhasePaused, !l.world.StableExists(): // there is nothing that an experiment could be made of
		l.user("promote", l.world.Promote)
	default:
		l.fail("convergence", "it is at rest and not healthy: %s", l.summary())
	}
}

func (l *laboratory) summary() string {
	text := ""
	if ro := l.world.Rollout(); ro != nil {
		text = summary(l.world.World) + " experiment " + ro.Status.Canary.CurrentExperiment + ", "
	}
	for _, ex := range l.world.Experiments() {
		text += fmt.Sprintf("%s %s %s; ", ex.Name, ex.Status.Phase, ex.Status.Message)
	}
	return text
}
