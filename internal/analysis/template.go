package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Templates are the templates that there are, by scope and name. Those of a namespace are of the Rollout's.
type Templates map[v1alpha1.AnalysisTemplateRef]*v1alpha1.AnalysisTemplateSpec

const (
	// MostTemplates is how many templates an object may use, those counted that its templates name in turn.
	MostTemplates = 200
	// MostLevels is how many templates may name each other in a row.
	MostLevels = 20
)

// TooMany stands for a template that is not looked at, since the object uses MostTemplates others already.
var TooMany = &v1alpha1.AnalysisTemplateSpec{}

// References are the templates that a Rollout names itself, each once.
func References(ro *v1alpha1.Rollout) []v1alpha1.AnalysisTemplateRef {
	var refs []v1alpha1.AnalysisTemplateRef
	add := func(a *v1alpha1.RolloutAnalysis) {
		if a == nil {
			return
		}
		for _, ref := range a.Templates {
			if !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
	}
	if b := ro.Spec.Strategy.BlueGreen; b != nil {
		add(b.PrePromotionAnalysis)
		add(b.PostPromotionAnalysis)
	}
	if c := ro.Spec.Strategy.Canary; c != nil {
		if c.Analysis != nil {
			add(&c.Analysis.RolloutAnalysis)
		}
		for i := range c.Steps {
			add(c.Steps[i].Analysis)
			if e := c.Steps[i].Experiment; e != nil {
				for _, a := range e.Analyses {
					add(&v1alpha1.RolloutAnalysis{Templates: []v1alpha1.AnalysisTemplateRef{{TemplateName: a.TemplateName, ClusterScope: a.ClusterScope}}})
				}
			}
		}
	}
	return refs
}

// template is one of those that make a run.
type template struct {
	*v1alpha1.AnalysisTemplateSpec
	// title is what messages call it.
	title string
}

func title(ref v1alpha1.AnalysisTemplateRef) string {
	if ref.ClusterScope {
		return fmt.Sprintf("ClusterAnalysisTemplate %q", ref.TemplateName)
	}
	return fmt.Sprintf("AnalysisTemplate %q", ref.TemplateName)
}

// collector gathers templates.
type collector struct {
	known    Templates
	found    []template
	seen     map[v1alpha1.AnalysisTemplateRef]bool
	problems []spec.Problem
}

// collect returns the templates that refs name, and those that they name in turn: depth first, and each once.
func collect(field string, refs []v1alpha1.AnalysisTemplateRef, known Templates) ([]template, []spec.Problem) {
	c := collector{known: known, seen: map[v1alpha1.AnalysisTemplateRef]bool{}}
	for i, ref := range refs {
		c.visit(fmt.Sprintf("%s.templates[%d].templateName", field, i), ref, nil)
	}
	return c.found, c.problems
}

// visit takes a template and what it names. via are the templates that led to it, the outermost first.
func (c *collector) visit(field string, ref v1alpha1.AnalysisTemplateRef, via []v1alpha1.AnalysisTemplateRef) {
	if i := slices.Index(via, ref); i >= 0 {
		c.problem(field, "%s names itself: %s; take one of these references out", title(ref), route(append(via[i:], ref)))
		return
	}
	if c.seen[ref] {
		return
	}
	c.seen[ref] = true
	found, ok := c.known[ref]
	switch {
	case !ok && len(via) > 0:
		c.missing(field, ref, ", which "+title(via[len(via)-1])+" names,")
		return
	case !ok:
		c.missing(field, ref, "")
		return
	case found == nil:
		c.problem(field, "%s cannot be read: the controller manages one namespace and is not allowed to; name an AnalysisTemplate in this namespace, or grant it get, list and watch on clusteranalysistemplates", title(ref))
		return
	case found == TooMany:
		c.problem(field, "more than %d templates are used, with those that templates name in turn; %s and others are left out: name fewer", MostTemplates, title(ref))
		return
	case len(via) >= MostLevels:
		c.problem(field, "%s is more than %d templates down: %s; let templates name each other less deeply", title(ref), MostLevels, route(append(via[:2:2], ref)))
		return
	case len(found.Unreadable) > 0:
		c.problem(field, "%s cannot be read: %s", title(ref), found.Unreadable)
		return
	}
	c.found = append(c.found, template{AnalysisTemplateSpec: found, title: title(ref)})
	via = append(slices.Clone(via), ref)
	for _, nested := range found.Templates {
		c.visit(field, nested, via)
	}
}

// missing adds that there is no template of that name; whose says which one names it, if that is not the field.
func (c *collector) missing(field string, ref v1alpha1.AnalysisTemplateRef, whose string) {
	c.problems = append(c.problems, spec.Problem{
		Field: field, Missing: title(ref), Text: title(ref) + whose + " not found: create it, or name one that exists",
	})
}

func (c *collector) problem(field, format string, args ...any) {
	c.problems = append(c.problems, spec.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

func route(refs []v1alpha1.AnalysisTemplateRef) string {
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = ref.TemplateName
	}
	return strings.Join(names, " → ")
}
