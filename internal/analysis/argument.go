package analysis

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// arguments are those of all templates, with the values that the Rollout sets. A value from the Rollout takes precedence
// over anything that a template sets: a plain value replaces a reference to a Secret, too.
func (m *merger) arguments(templates []template) []v1alpha1.Argument {
	var all []v1alpha1.Argument
	from := map[string]string{}
	for _, t := range templates {
		for _, arg := range t.Args {
			i := slices.IndexFunc(all, func(a v1alpha1.Argument) bool { return a.Name == arg.Name })
			switch {
			case i < 0:
				all = append(all, *arg.DeepCopy())
				from[arg.Name] = t.title
			case !hasValue(arg):
			case !hasValue(all[i]):
				all[i] = *arg.DeepCopy()
				from[arg.Name] = t.title
			case !equality.Semantic.DeepEqual(all[i], arg):
				m.problem("templates", "argument %q has one value in %s and another in %s: give it the same value in both, or none in one of them",
					arg.Name, from[arg.Name], t.title)
			}
		}
	}
	for i := range all {
		m.fill(&all[i], from[all[i].Name])
	}
	return all
}

func hasValue(a v1alpha1.Argument) bool { return a.Value != nil || a.ValueFrom != nil }

// fill gives an argument its value, unless that is to be read from a Secret or a ConfigMap when it is measured. What the Rollout gives and no
// template asks for is left out.
func (m *merger) fill(arg *v1alpha1.Argument, title string) {
	i := slices.IndexFunc(m.analysis.Args, func(given v1alpha1.AnalysisRunArgument) bool { return given.Name == arg.Name })
	if j := slices.IndexFunc(m.from.Arguments, func(given v1alpha1.Argument) bool { return given.Name == arg.Name }); j >= 0 {
		given := m.from.Arguments[j].DeepCopy()
		arg.Value, arg.ValueFrom = given.Value, given.ValueFrom
	}
	switch {
	case i >= 0:
		value := m.givenValue(m.analysis.Args[i])
		arg.Value, arg.ValueFrom = &value, nil
	case arg.Value != nil:
	case arg.ValueFrom != nil && arg.ValueFrom.FieldRef != nil:
		value := m.field(arg.Name, arg.ValueFrom.FieldRef.FieldPath)
		arg.Value, arg.ValueFrom = &value, nil
	case arg.ValueFrom == nil || arg.ValueFrom.SecretKeyRef == nil && arg.ValueFrom.ConfigMapKeyRef == nil:
		m.problem("args", "args.%s was not resolved: %s has no value for it, so write one here", arg.Name, title)
	}
}

func (m *merger) givenValue(arg v1alpha1.AnalysisRunArgument) string {
	from := arg.ValueFrom
	switch {
	case from == nil:
		return arg.Value
	case from.PodTemplateHashValue != nil && *from.PodTemplateHashValue == v1alpha1.ValueFromStable:
		return m.from.Stable
	case from.PodTemplateHashValue != nil:
		return m.from.Latest
	case from.FieldRef != nil:
		return m.field(arg.Name, from.FieldRef.FieldPath)
	}
	return arg.Value
}

func (m *merger) field(arg, path string) string {
	if m.from.Rollout == nil {
		m.problem("args", "argument %q: fieldRef %q is a field of a Rollout, and there is none: give the argument a value", arg, path)
		return ""
	}
	if m.early && !isMetadata(path) {
		return ""
	}
	value, err := Field(m.from.Rollout, path)
	if err != nil {
		m.problem("args", "argument %q: fieldRef %q: %s", arg, path, err)
	}
	if text := absent(m.from.Rollout, path); text != "" {
		m.warnings = append(m.warnings, m.about("args", "argument %q: fieldRef %q: %s", arg, path, text))
	}
	return value
}
