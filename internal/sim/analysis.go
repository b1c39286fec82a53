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
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// analyses are the templates and AnalysisRuns of a world. Without a controller nothing measures: scripts say how a run goes. Only one
// that is terminated ends by itself then, as all do that have measured nothing.
type analyses struct {
	templates analysis.Templates
	version   string                  // of the templates
	runs      []*v1alpha1.AnalysisRun // in the order of their creation; replaced as a whole, never changed
	past      past[[]*v1alpha1.AnalysisRun]
	// taken are names of AnalysisRuns that belong to somebody else, refused is why the API server takes no new ones.
	taken   map[string]bool
	refused string
	// verdicts are how runs will go, in the order of their creation.
	verdicts []verdict

	controller *AnalysisController
}

// verdict is the phase that an AnalysisRun comes to at a time.
type verdict struct {
	run   string
	phase v1alpha1.AnalysisPhase
	at    time.Time
}

// expect arranges how a new run will go.
func (w *World) expect(run *v1alpha1.AnalysisRun) {
	if w.Verdict == nil {
		return
	}
	phase, after := w.Verdict(run)
	w.analyses.verdicts = append(w.analyses.verdicts, verdict{run: run.Name, phase: v1alpha1.AnalysisPhaseRunning, at: w.now})
	if phase != v1alpha1.AnalysisPhaseRunning {
		w.analyses.verdicts = append(w.analyses.verdicts, verdict{run: run.Name, phase: phase, at: w.now.Add(after)})
	}
}

// pronounce lets one run come to the phase that is due, and reports whether there was one.
func (w *World) pronounce() bool {
	i := slices.IndexFunc(w.analyses.verdicts, func(v verdict) bool { return !v.at.After(w.now) })
	if i < 0 {
		return false
	}
	due := w.analyses.verdicts[i]
	w.analyses.verdicts = slices.Delete(slices.Clone(w.analyses.verdicts), i, i+1)
	if run := w.findRun(due.run); run != nil && !hasEnded(run) {
		next := *run
		next.Status.Phase = due.phase
		w.putRun(&next)
	}
	return true
}

// RefuseRuns has the API server refuse new AnalysisRuns with a message; an empty one ends that.
func (w *World) RefuseRuns(message string) {
	w.analyses.refused = message
	w.notify()
}

// Runs are the AnalysisRuns as they are now, not to be modified.
func (w *World) Runs() []*v1alpha1.AnalysisRun { return w.analyses.runs }

// CreateTemplate adds an AnalysisTemplate of one metric, which names others.
func (w *World) CreateTemplate(name string, others ...string) {
	template := &v1alpha1.AnalysisTemplateSpec{Metrics: []v1alpha1.Metric{{
		Name: name, Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "https://test/" + name}},
	}}}
	for _, other := range others {
		template.Templates = append(template.Templates, v1alpha1.AnalysisTemplateRef{TemplateName: other})
	}
	w.putTemplate(name, template)
}

// PutTemplates adds templates as somebody wrote them.
func (w *World) PutTemplates(templates analysis.Templates) {
	all := maps.Clone(w.analyses.templates)
	if all == nil {
		all = analysis.Templates{}
	}
	maps.Copy(all, templates)
	w.setTemplates(all)
}

// DeleteTemplate deletes an AnalysisTemplate.
func (w *World) DeleteTemplate(name string) { w.putTemplate(name, nil) }

func (w *World) putTemplate(name string, template *v1alpha1.AnalysisTemplateSpec) {
	templates := maps.Clone(w.analyses.templates)
	if templates == nil {
		templates = analysis.Templates{}
	}
	ref := v1alpha1.AnalysisTemplateRef{TemplateName: name}
	templates[ref] = template
	if template == nil {
		delete(templates, ref)
	}
	w.setTemplates(templates)
}

func (w *World) setTemplates(templates analysis.Templates) {
	w.analyses.templates, w.analyses.version = templates, w.nextVersion()
	w.notify()
}

// SetRun says how the newest AnalysisRun of a kind goes that has not ended yet.
func (w *World) SetRun(kind string, phase v1alpha1.AnalysisPhase, message string) error {
	for _, run := range slices.Backward(w.analyses.runs) {
		if run.Labels[v1alpha1.RolloutTypeLabel] != kind || hasEnded(run) {
			continue
		}
		next := *run
		next.Status.Phase, next.Status.Message = phase, message
		w.putRun(&next)
		return nil
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
	w.putRuns(slices.DeleteFunc(slices.Clone(w.analyses.runs), func(run *v1alpha1.AnalysisRun) bool {
		return run.Labels[v1alpha1.RolloutTypeLabel] == kind
	}))
}

// DeleteRun deletes an AnalysisRun by hand.
func (w *World) DeleteRun(name string) {
	w.putRuns(slices.DeleteFunc(slices.Clone(w.analyses.runs), func(run *v1alpha1.AnalysisRun) bool { return run.Name == name }))
}

func (w *World) findRun(name string) *v1alpha1.AnalysisRun {
	return runNamed(w.analyses.runs, name)
}

// putRun stores a new AnalysisRun, or the next version of one. Who only measured it tells nobody, as the real watches pass over that.
func (w *World) putRun(run *v1alpha1.AnalysisRun) {
	run.ResourceVersion = w.nextVersion()
	runs := slices.Clone(w.analyses.runs)
	i := slices.IndexFunc(runs, func(have *v1alpha1.AnalysisRun) bool { return have.Name == run.Name })
	if i < 0 {
		w.putRuns(append(runs, run))
		w.analyses.controller.look(run.Name)
		return
	}
	was := runs[i]
	runs[i] = run
	if w.analyses.controller == nil {
		w.putRuns(runs)
		return
	}
	w.keepRuns(runs)
	if was.Status.Phase != run.Status.Phase {
		w.notify()
	}
	if was.Status.Phase != run.Status.Phase || !equality.Semantic.DeepEqual(was.Spec, run.Spec) {
		w.analyses.controller.look(run.Name)
	}
}

func (w *World) putRuns(runs []*v1alpha1.AnalysisRun) {
	w.keepRuns(runs)
	w.notify()
}

func (w *World) keepRuns(runs []*v1alpha1.AnalysisRun) {
	w.analyses.runs = runs
	w.analyses.past.add(runs)
}

// observeAnalyses adds what a watch has shown of AnalysisRuns, so many versions back.
func (w *World) observeAnalyses(o *plan.Observed, back int) {
	o.Templates = w.analyses.templates
	o.AnalysisRuns = ofRollout(w, w.analyses.past.see(back))
}

func (w *World) sawAllRuns(o plan.Observed) bool {
	return slices.Equal(o.AnalysisRuns, ofRollout(w, w.analyses.runs))
}

func (a *application) createRun(run *v1alpha1.AnalysisRun) {
	if !a.may() {
		return
	}
	have := a.findRun(run.Name)
	switch {
	case a.analyses.refused != "":
		a.refuseRun(change.CreateFailure{Name: run.Name, Message: a.analyses.refused})
	case a.analyses.taken[run.Name], have != nil && !sameOwner(have, run):
		a.refuseRun(change.CreateFailure{Name: run.Name, Taken: true})
	case have != nil: // made by a pass with an older view
		a.Writes--
		a.Conflict = true
	default:
		run = run.DeepCopy()
		a.uid++
		run.UID = types.UID(name("uid", a.uid))
		run.CreationTimestamp = metav1.NewTime(a.now.Truncate(time.Second))
		a.putRun(run)
		a.own(&a.analyses.past.unseen)
		a.expect(run)
		a.expectOwner(run)
	}
}

func (a *application) refuseRun(f change.CreateFailure) {
	a.Writes--
	a.RunFailure = &f
}

// current reports whether an AnalysisRun is still what it was.
func (a *application) current(run *v1alpha1.AnalysisRun) bool {
	have := a.findRun(run.Name)
	if have == nil || have.ResourceVersion != run.ResourceVersion {
		a.Writes--
		a.Conflict = true
		return false
	}
	return true
}

func (a *application) terminateRun(from, to *v1alpha1.AnalysisRun) {
	if !a.may() || !a.current(from) {
		return
	}
	if equality.Semantic.DeepEqual(from.Spec, to.Spec) {
		a.Idle = "update of " + from.Name + " that changes nothing"
	}
	next := to.DeepCopy()
	next.Status = from.Status
	a.putRun(next)
	a.own(&a.analyses.past.unseen)
	if a.analyses.controller != nil {
		return
	}
	over := next.DeepCopy()
	over.Status.Phase, over.Status.Message = v1alpha1.AnalysisPhaseSuccessful, "Run Terminated"
	a.putRun(over)
}

func (a *application) deleteRun(run *v1alpha1.AnalysisRun) {
	if !a.may() || !a.current(run) {
		return
	}
	a.putRuns(slices.DeleteFunc(slices.Clone(a.analyses.runs), func(have *v1alpha1.AnalysisRun) bool { return have.Name == run.Name }))
	a.own(&a.analyses.past.unseen)
}

// runKinds are the words of scripts for what an AnalysisRun is for.
var runKinds = map[string]string{
	"pre": v1alpha1.RolloutTypePrePromotion, "post": v1alpha1.RolloutTypePostPromotion,
	"step": v1alpha1.RolloutTypeStep, "background": v1alpha1.RolloutTypeBackground,
}

// analysis is the verb "analysis pre Failed 'too many errors'", "analysis refused because", "analysis allowed" or "analysis taken
// pre": how a run goes, or whether there can be one.
func (s *Script) analysis(args []string) (string, error) {
	a := &s.World.analyses
	switch {
	case first(args) == "refused":
		s.World.RefuseRuns(strings.Join(args[1:], " "))
	case first(args) == "allowed":
		s.World.RefuseRuns("")
	case first(args) == "taken" && len(args) == 2:
		ro := s.World.rollout
		a.taken = map[string]bool{fmt.Sprintf("%s-%s-%s-%s", ro.Name, ro.Status.CurrentPodHash, ro.Annotations[v1alpha1.RevisionAnnotation], args[1]): true}
	case len(args) >= 2 && runKinds[args[0]] != "":
		return "", s.World.SetRun(runKinds[args[0]], v1alpha1.AnalysisPhase(args[1]), strings.Join(args[2:], " "))
	default:
		return "", errors.New("analysis pre Successful")
	}
	return "", nil
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
