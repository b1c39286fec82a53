package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
)

// Without a controller nobody measures AnalysisRuns: Options.Verdict or a script says how they go. One that is terminated ends by itself
// then, as all do that have measured nothing.

// verdict is the phase that an AnalysisRun comes to at a time.
type verdict struct {
	run     string
	phase   v1alpha1.AnalysisPhase
	message string
	at      time.Time
}

// expect arranges how a new run will go.
func (w *World) expect(run *v1alpha1.AnalysisRun) {
	if w.Verdict == nil {
		return
	}
	phase, after := w.Verdict(run)
	w.verdicts = append(w.verdicts, verdict{run: run.Name, phase: v1alpha1.AnalysisPhaseRunning, at: w.now})
	if phase != v1alpha1.AnalysisPhaseRunning {
		w.verdicts = append(w.verdicts, verdict{run: run.Name, phase: phase, at: w.now.Add(after)})
	}
}

// judged notifies the owner of a run that the run is new or has changed.
func (w *World) judged(was, is *v1alpha1.AnalysisRun) {
	if was == nil || was.Status.Phase != is.Status.Phase || !equality.Semantic.DeepEqual(was.Spec, is.Spec) {
		w.analysisLoop.look(is.Name)
	}
	if was != nil && is.Spec.Terminate && !was.Spec.Terminate && !hasEnded(is) && !w.measured() {
		w.verdicts = append(w.verdicts, verdict{is.Name, v1alpha1.AnalysisPhaseSuccessful, "Run Terminated", w.now.Add(w.Lag())})
	}
}

// measured reports whether something measures the runs.
func (w *World) measured() bool {
	m, ok := w.loop.(measurer)
	return w.analysisLoop != nil || ok && m.Measures()
}

// pronounce lets one run come to the phase that is due, and reports whether there was one.
func (w *World) pronounce() bool {
	i := slices.IndexFunc(w.verdicts, func(v verdict) bool { return !v.at.After(w.now) })
	if i < 0 {
		return false
	}
	due := w.verdicts[i]
	w.verdicts = slices.Delete(slices.Clone(w.verdicts), i, i+1)
	if run := w.FindRun(due.run); run != nil && !hasEnded(run) {
		w.SetPhase(run, due.phase, due.message)
	}
	return true
}

// SetPhase sets the phase and the message of an AnalysisRun.
func (w *World) SetPhase(run *v1alpha1.AnalysisRun, phase v1alpha1.AnalysisPhase, message string) {
	next := *run
	next.Status.Phase, next.Status.Message = phase, message
	w.objects.runs.replace(w, &next, true)
}

// RefuseRuns has the API server refuse new AnalysisRuns with a message; an empty one ends that.
func (w *World) RefuseRuns(message string) {
	w.objects.runs.refused = message
	w.notify()
}

// Runs are the AnalysisRuns as they are now, not to be modified.
func (w *World) Runs() []*v1alpha1.AnalysisRun { return w.objects.runs.now }

// CreateTemplate adds an AnalysisTemplate of one metric, which names others.
func (w *World) CreateTemplate(name string, others ...string) {
	w.PutTemplates(analysis.Templates{{TemplateName: name}: TemplateOfOneMetric(name, others)})
}

// TemplateOfOneMetric is a template with a metric of this name, and with what the others say.
func TemplateOfOneMetric(name string, others []string) *v1alpha1.AnalysisTemplateSpec {
	template := &v1alpha1.AnalysisTemplateSpec{Metrics: []v1alpha1.Metric{{
		Name: name, Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "https://test/" + name}},
	}}}
	for _, other := range others {
		template.Templates = append(template.Templates, v1alpha1.AnalysisTemplateRef{TemplateName: other})
	}
	return template
}

// PutTemplates adds templates as a user wrote them, or replaces those of the same name.
func (w *World) PutTemplates(templates analysis.Templates) {
	all := &w.objects.templates
	for _, ref := range slices.SortedFunc(maps.Keys(templates), func(a, b v1alpha1.AnalysisTemplateRef) int { return cmp.Compare(a.TemplateName, b.TemplateName) }) {
		o := &v1alpha1.AnalysisTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: Home, Name: ref.TemplateName}, Spec: *templates[ref]}
		switch have := all.named(ref.TemplateName); {
		case ref.ClusterScope:
			w.clusterTemplates = maps.Clone(w.clusterTemplates)
			if w.clusterTemplates == nil {
				w.clusterTemplates = analysis.Templates{}
			}
			w.clusterTemplates[ref] = templates[ref]
		case have == nil:
			all.create(w, o)
		case !equality.Semantic.DeepEqual(have.Spec, o.Spec):
			all.replace(w, o, false)
		}
	}
}

// DeleteTemplate deletes an AnalysisTemplate.
func (w *World) DeleteTemplate(name string) {
	w.objects.templates.remove(w, func(o Object) bool { return o.GetName() == name })
}

// Templates are the analysis templates by what refers to them.
func (w *World) Templates() analysis.Templates {
	all := maps.Clone(w.clusterTemplates)
	for _, t := range w.objects.templates.now {
		if all == nil {
			all = analysis.Templates{}
		}
		all[v1alpha1.AnalysisTemplateRef{TemplateName: t.Name}] = &t.Spec
	}
	return all
}

// SetRun says how the newest AnalysisRun of a kind goes that has not ended yet.
func (w *World) SetRun(kind string, phase v1alpha1.AnalysisPhase, message string) error {
	for _, run := range slices.Backward(w.Runs()) {
		if run.Labels[v1alpha1.RolloutTypeLabel] == kind && !hasEnded(run) {
			w.SetPhase(run, phase, message)
			return nil
		}
	}
	return fmt.Errorf("no AnalysisRun of kind %s is under way", kind)
}

func hasEnded(run *v1alpha1.AnalysisRun) bool {
	switch run.Status.Phase {
	case v1alpha1.AnalysisPhasePending, v1alpha1.AnalysisPhaseRunning, "":
		return false
	default:
		return true
	}
}

// DeleteRuns deletes all AnalysisRuns of a kind by hand.
func (w *World) DeleteRuns(kind string) {
	w.objects.runs.remove(w, func(run Object) bool { return run.GetLabels()[v1alpha1.RolloutTypeLabel] == kind })
}

// DeleteRun deletes an AnalysisRun by hand.
func (w *World) DeleteRun(name string) {
	w.objects.runs.remove(w, func(run Object) bool { return run.GetName() == name })
}

// TakeRun gives someone else the name of an AnalysisRun.
func (w *World) TakeRun(name string) { w.objects.runs.take(name) }

// FindRun is an AnalysisRun by its name, nil if there is none.
func (w *World) FindRun(name string) *v1alpha1.AnalysisRun { return w.objects.runs.named(name) }
