package lint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/expr"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// templateSpec is what a template says, nil for an object that is none.
func templateSpec(o *object) *v1alpha1.AnalysisTemplateSpec {
	switch t := o.typed.(type) {
	case *v1alpha1.AnalysisTemplate:
		return &t.Spec
	case *v1alpha1.ClusterAnalysisTemplate:
		return &t.Spec
	}
	return nil
}

func templateKind(ref v1alpha1.AnalysisTemplateRef) string {
	if ref.ClusterScope {
		return v1alpha1.KindClusterAnalysisTemplate
	}
	return v1alpha1.KindAnalysisTemplate
}

func (l *linter) template(from *object, ref v1alpha1.AnalysisTemplateRef) *object {
	return l.lookup(from, v1alpha1.GroupVersion.Group, templateKind(ref), ref.TemplateName)
}

func (l *linter) wantTemplate(from *object, field string, ref v1alpha1.AnalysisTemplateRef) {
	l.want(from, field, v1alpha1.GroupVersion.Group, templateKind(ref), ref.TemplateName)
}

// known are the templates that some references lead to, as far as they are in the files; complete says whether all are, and read without
// errors.
func (l *linter) known(from *object, refs []v1alpha1.AnalysisTemplateRef) (known analysis.Templates, complete bool) {
	known, complete = analysis.Templates{}, true
	for refs = slices.Clone(refs); len(refs) > 0; refs = refs[1:] {
		if known[refs[0]] != nil {
			continue
		}
		found := l.template(from, refs[0])
		if found == nil || templateSpec(found) == nil || len(found.mistakes) > 0 {
			complete = false
			continue
		}
		known[refs[0]] = templateSpec(found)
		refs = slices.Concat(refs, known[refs[0]].Templates)
	}
	return known, complete
}

// checkTemplates looks at each template by itself: whether it can be measured, and whether the templates that it names are there. Of an
// AnalysisRun it looks at what it measures.
func (l *linter) checkTemplates() {
	for _, o := range l.objects {
		if run, ok := o.typed.(*v1alpha1.AnalysisRun); ok {
			l.checkConditions(o, run.Spec.Metrics)
			l.checkQueries(o, run.Spec.Metrics)
		}
		template := templateSpec(o)
		if template == nil || len(o.mistakes) > 0 {
			continue
		}
		l.checkConditions(o, template.Metrics)
		l.checkQueries(o, template.Metrics)
		for i, ref := range template.Templates {
			l.wantTemplate(o, fmt.Sprintf("spec.templates[%d].templateName", i), ref)
		}
		self := v1alpha1.AnalysisTemplateRef{TemplateName: o.name, ClusterScope: o.kind == v1alpha1.KindClusterAnalysisTemplate}
		known, complete := l.known(o, []v1alpha1.AnalysisTemplateRef{self})
		if !complete {
			continue
		}
		given := spec.Analysis{Endless: true, Field: "spec", RolloutAnalysis: v1alpha1.RolloutAnalysis{
			Templates: []v1alpha1.AnalysisTemplateRef{self}, Args: anything(known),
		}}
		for _, p := range analysis.Check(given, withTargets(known), &v1alpha1.Rollout{}) {
			l.invalidMetric(o, template, p.Text)
		}
		l.checkUses(o, template, known)
	}
}

// ofMetric is the field of a metric at which a problem of that metric begins.
var ofMetric = regexp.MustCompile(`^(interval|initialDelay|count|\w+Limit|goldenTarget|golden|comparison(?:\.\w+)?)\b`)

// invalidMetric reports what is wrong with a template, at the field of the metric if it is one's: the schema then says it no second time.
func (l *linter) invalidMetric(o *object, template *v1alpha1.AnalysisTemplateSpec, text string) {
	for i := range template.Metrics {
		of, ok := strings.CutPrefix(text, fmt.Sprintf("metric %q of %s %q: ", template.Metrics[i].Name, o.kind, o.name))
		switch {
		case !ok:
		case ofMetric.MatchString(of):
			at := fmt.Sprintf("spec.metrics[%d].%s", i, ofMetric.FindString(of))
			l.report(InvalidAnalysis, o, at, "%s", of)
			o.broken = slices.DeleteFunc(o.broken, func(e *field.Error) bool { return e.Field == at })
			return
		default:
			l.report(InvalidAnalysis, o, fmt.Sprintf("spec.metrics[%d]", i), "%s", of)
			return
		}
	}
	l.report(InvalidAnalysis, o, "spec", "%s", text)
}

// anything is a value for every argument: who uses the templates may give them.
func anything(known analysis.Templates) []v1alpha1.AnalysisRunArgument {
	var args []v1alpha1.AnalysisRunArgument
	for _, template := range known {
		for _, arg := range template.Args {
			args = append(args, v1alpha1.AnalysisRunArgument{Name: arg.Name, Value: "1"})
		}
	}
	return args
}

// withTargets are copies of templates in which golden signals have a whole target: the Rollout that uses the templates gives what they leave out.
func withTargets(known analysis.Templates) analysis.Templates {
	all := make(analysis.Templates, len(known))
	for ref, template := range known {
		template = template.DeepCopy()
		all[ref] = template
		for i := range template.Metrics {
			m := &template.Metrics[i]
			if m.Golden == "" {
				continue
			}
			t := v1alpha1.GoldenTarget{}
			if m.GoldenTarget != nil {
				t = *m.GoldenTarget
			}
			t.Router, t.Namespace = cmp.Or(t.Router, v1alpha1.GoldenIstio), cmp.Or(t.Namespace, "default")
			t.Canary, t.Stable, t.Ingress = cmp.Or(t.Canary, "canary"), cmp.Or(t.Stable, "stable"), cmp.Or(t.Ingress, "ingress")
			m.GoldenTarget = &t
		}
	}
	return all
}

// use is where a text names an argument.
var use = regexp.MustCompile(`\{\{\s*args\.([A-Za-z0-9_.-]+?)\s*\}\}`)

// checkConditions finds conditions that cannot be understood. What an argument is put into is only known when the run begins.
func (l *linter) checkConditions(o *object, metrics []v1alpha1.Metric) {
	for i := range metrics {
		for _, c := range []struct{ field, text string }{
			{"successCondition", metrics[i].SuccessCondition}, {"failureCondition", metrics[i].FailureCondition},
		} {
			if c.text == "" || strings.Contains(c.text, "{{") {
				continue
			}
			if err := expr.Check(c.text); err != nil {
				l.report(InvalidCondition, o, fmt.Sprintf("spec.metrics[%d].%s", i, c.field), "%s", err)
			}
		}
	}
}

// checkUses finds arguments that a metric uses and nobody declares. A template that another one names may leave that to it.
func (l *linter) checkUses(o *object, template *v1alpha1.AnalysisTemplateSpec, known analysis.Templates) {
	if l.isNested(o) {
		return
	}
	declared := map[string]bool{}
	for _, t := range known {
		for _, arg := range t.Args {
			declared[arg.Name] = true
		}
	}
	for i := range template.Metrics {
		text, err := json.Marshal(template.Metrics[i])
		if err != nil {
			continue
		}
		told := map[string]bool{}
		for _, m := range use.FindAllStringSubmatch(string(text), -1) {
			if name := m[1]; !declared[name] && !told[name] {
				told[name] = true
				l.report(UndeclaredArgument, o, fmt.Sprintf("spec.metrics[%d]", i), "{{args.%s}} is not among spec.args%s", name, meant(name, slices.Sorted(maps.Keys(declared)), "declare it there"))
			}
		}
	}
}

// isNested reports whether another template in the files names this one.
func (l *linter) isNested(o *object) bool {
	return slices.ContainsFunc(l.objects, func(other *object) bool {
		t := templateSpec(other)
		return t != nil && slices.ContainsFunc(t.Templates, func(ref v1alpha1.AnalysisTemplateRef) bool {
			return ref.TemplateName == o.name && templateKind(ref) == o.kind
		})
	})
}

// checkRolloutAnalyses looks at the analyses that a Rollout asks for, with the templates that are in the files.
func (l *linter) checkRolloutAnalyses(o *object, ro *v1alpha1.Rollout) {
	resolved, _ := spec.Resolve(l.withWorkload(o, ro))
	for _, a := range resolved.Analyses() {
		for i, ref := range a.Templates {
			l.wantTemplate(o, fmt.Sprintf("%s.templates[%d].templateName", a.Field, i), ref)
		}
		known, complete := l.known(o, a.Templates)
		if !complete {
			continue
		}
		l.problems(InvalidAnalysis, o, analysis.Check(a, known, ro))
		for _, w := range analysis.Warn(a, known, ro) {
			l.report(AbsentField, o, w.Field, "%s", w.Text)
		}
		l.checkGiven(o, a.Field+".args", a.Args, known)
	}
	if c, ok := resolved.Strategy.(spec.Canary); ok {
		for _, step := range c.Steps {
			if s, ok := step.(spec.RunExperiment); ok {
				l.warnPortless(o, s.Resolved)
			}
		}
	}
	if c := ro.Spec.Strategy.Canary; c != nil {
		for i := range c.Steps {
			if c.Steps[i].Experiment == nil {
				continue
			}
			for j, a := range c.Steps[i].Experiment.Analyses {
				l.wantTemplate(o, fmt.Sprintf("spec.strategy.canary.steps[%d].experiment.analyses[%d].templateName", i, j),
					v1alpha1.AnalysisTemplateRef{TemplateName: a.TemplateName, ClusterScope: a.ClusterScope})
			}
		}
	}
}

// checkGiven finds values that are given to arguments which no template has: upstream drops them without a word.
func (l *linter) checkGiven(o *object, field string, given []v1alpha1.AnalysisRunArgument, known analysis.Templates) {
	var names []string
	for _, t := range known {
		for _, arg := range t.Args {
			names = append(names, arg.Name)
		}
	}
	for i, arg := range given {
		if !slices.Contains(names, arg.Name) {
			l.report(UnusedArgument, o, fmt.Sprintf("%s[%d].name", field, i), "no template has an argument %q, so the value is not used%s", arg.Name, meant(arg.Name, names, "remove it"))
		}
	}
}

func (l *linter) checkExperiment(o *object, exp *v1alpha1.Experiment) {
	resolved, _ := spec.ResolveExperiment(exp)
	l.warnPortless(o, resolved)
	for i, a := range exp.Spec.Analyses {
		l.wantTemplate(o, fmt.Sprintf("spec.analyses[%d].templateName", i),
			v1alpha1.AnalysisTemplateRef{TemplateName: a.TemplateName, ClusterScope: a.ClusterScope})
	}
}

// warnPortless warns of templates that run without the Service that they ask for.
func (l *linter) warnPortless(o *object, e spec.Experiment) {
	for _, t := range e.Templates {
		if t.Portless {
			l.report(TemplateWithout, o, t.Field+".service", "%s", experiment.NoPorts)
		}
	}
}
