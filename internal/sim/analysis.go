package sim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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
	if run := w.findRun(due.run); run != nil && !hasEnded(run) {
		w.setRun(run, due.phase, due.message)
	}
	return true
}

// setRun says how a run goes.
func (w *World) setRun(run *v1alpha1.AnalysisRun, phase v1alpha1.AnalysisPhase, message string) {
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
	w.PutTemplates(analysis.Templates{{TemplateName: name}: templateOfOneMetric(name, others)})
}

func templateOfOneMetric(name string, others []string) *v1alpha1.AnalysisTemplateSpec {
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
			w.setRun(run, phase, message)
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

func (w *World) findRun(name string) *v1alpha1.AnalysisRun { return w.objects.runs.named(name) }

// runKinds are the words of scripts for what an AnalysisRun is for.
var runKinds = map[string]string{
	"pre": v1alpha1.RolloutTypePrePromotion, "post": v1alpha1.RolloutTypePostPromotion,
	"step": v1alpha1.RolloutTypeStep, "background": v1alpha1.RolloutTypeBackground,
}

// analysis is the verb "analysis pre Failed 'too many errors'", "analysis refused because", "analysis allowed" or "analysis taken
// pre": how a run goes, or whether there can be one.
func (s *Script) analysis(args []string) (string, error) {
	switch {
	case first(args) == "refused":
		s.World.RefuseRuns(strings.Join(args[1:], " "))
	case first(args) == "allowed":
		s.World.RefuseRuns("")
	case first(args) == "taken" && len(args) == 2:
		s.World.objects.runs.take(s.childName(args[1]))
	case len(args) >= 2 && runKinds[args[0]] != "":
		return "", s.World.SetRun(runKinds[args[0]], v1alpha1.AnalysisPhase(args[1]), strings.Join(args[2:], " "))
	default:
		return "", errors.New("analysis pre Successful")
	}
	return "", nil
}

// childName is the name of what belongs to the Rollout's current revision.
func (s *Script) childName(suffix string) string {
	ro := s.World.Rollout()
	return fmt.Sprintf("%s-%s-%s-%s", ro.Name, ro.Status.CurrentPodHash, ro.Annotations[v1alpha1.RevisionAnnotation], suffix)
}

// template is the verb "template smoke": an AnalysisTemplate, with those that it names behind it.
func (s *Script) template(args []string) (string, error) {
	if len(args) == 0 {
		return "", errors.New("a template needs a name")
	}
	s.World.CreateTemplate(args[0], args[1:]...)
	return "", nil
}

// analysisOf is an analysis of a template, of none where it has no name.
func analysisOf(template string) *v1alpha1.RolloutAnalysis {
	a := &v1alpha1.RolloutAnalysis{}
	if template != "" {
		a.Templates = []v1alpha1.AnalysisTemplateRef{{TemplateName: template}}
	}
	return a
}

// setAnalysisField sets an analysis of the spec to one of a template, "none" to none.
func setAnalysisField(ro *v1alpha1.Rollout, key, value string) bool {
	wanted := analysisOf(value)
	if value == "none" {
		wanted = nil
	}
	b, c := ro.Spec.Strategy.BlueGreen, ro.Spec.Strategy.Canary
	switch {
	case c != nil && key == "background" && wanted == nil:
		c.Analysis = nil
	case c != nil && key == "background":
		c.Analysis = &v1alpha1.RolloutAnalysisBackground{RolloutAnalysis: *wanted}
	case c != nil && key == "startingStep" && c.Analysis != nil:
		n, _ := strconv.ParseInt(value, 10, 32)
		c.Analysis.StartingStep = new(int32(n))
	case b != nil && key == "pre":
		b.PrePromotionAnalysis = wanted
	case b != nil && key == "post":
		b.PostPromotionAnalysis = wanted
	default:
		return false
	}
	return true
}

// runText is how an AnalysisRun is doing.
func runText(run *v1alpha1.AnalysisRun) string {
	text := string(cmp.Or(run.Status.Phase, "not begun"))
	if run.Status.Message != "" {
		text += ": " + run.Status.Message
	}
	if run.Spec.Terminate {
		text += " (terminated)"
	}
	return text + argumentText(run)
}
