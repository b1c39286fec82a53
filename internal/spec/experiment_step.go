package spec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// RunExperiment holds the canary where it is until an Experiment has ended well.
type RunExperiment struct {
	v1alpha1.RolloutExperimentStep
	// Resolved is the Experiment as far as it is known before the step comes: its pods are those of the new version, and values that
	// arguments take from elsewhere are empty.
	Resolved Experiment
	selector *metav1.LabelSelector
	deadline *int32
}

func (RunExperiment) isStep() {}

func (RunExperiment) String() string { return "experiment" }

// Version is what a template of an Experiment's step is copied from.
type Version struct {
	Template        *corev1.PodTemplateSpec
	MinReadySeconds int32
}

// Spec is the spec of the step's Experiment, of the two versions of an update and with the values of arguments.
func (s RunExperiment) Spec(stable, canary Version, argument func(v1alpha1.AnalysisRunArgument) string) v1alpha1.ExperimentSpec {
	out := v1alpha1.ExperimentSpec{
		Duration:                s.Duration,
		ProgressDeadlineSeconds: s.deadline,
		ScaleDownDelaySeconds:   s.ScaleDownDelaySeconds,
		DryRun:                  s.DryRun,
	}
	if m := s.AnalysisRunMetadata; len(m.Labels)+len(m.Annotations) > 0 {
		out.AnalysisRunMetadata = &m
	}
	for i := range s.Templates {
		version := canary
		if s.Templates[i].SpecRef == v1alpha1.StableSpecRef {
			version = stable
		}
		out.Templates = append(out.Templates, s.template(&s.Templates[i], version))
	}
	for _, a := range s.Analyses {
		analysis := v1alpha1.ExperimentAnalysisTemplateRef{
			Name: a.Name, TemplateName: a.TemplateName, ClusterScope: a.ClusterScope, RequiredForCompletion: a.RequiredForCompletion,
		}
		for _, arg := range a.Args {
			analysis.Args = append(analysis.Args, v1alpha1.Argument{Name: arg.Name, Value: new(argument(arg))})
		}
		out.Analyses = append(out.Analyses, analysis)
	}
	return out
}

// template is one of the Experiment's: pods of a version, with labels and annotations of their own. The labels are in the selector
// too, so that no other one's pods fit.
func (s RunExperiment) template(t *v1alpha1.RolloutExperimentTemplate, version Version) v1alpha1.TemplateSpec {
	out := v1alpha1.TemplateSpec{
		Name: t.Name, Replicas: t.Replicas, MinReadySeconds: version.MinReadySeconds,
		Selector: s.selector.DeepCopy(), Template: *version.Template.DeepCopy(), Service: t.Service.DeepCopy(),
	}
	if t.Selector != nil {
		out.Selector = t.Selector.DeepCopy()
	}
	out.Template.Labels = over(t.Metadata.Labels, out.Template.Labels)
	out.Template.Annotations = over(t.Metadata.Annotations, out.Template.Annotations)
	out.Selector.MatchLabels = over(t.Metadata.Labels, out.Selector.MatchLabels)
	if t.Weight != nil && out.Service == nil {
		out.Service = &v1alpha1.TemplateService{} // traffic comes by it
	}
	return out
}

// experiments resolves the steps of a canary that run Experiments.
func (p *problems) experiments(ro *v1alpha1.Rollout, strategy Strategy) {
	c, ok := strategy.(Canary)
	if !ok {
		return
	}
	weight := int32(0)
	for i, step := range c.Steps {
		switch s := step.(type) {
		case SetWeight:
			weight = s.Weight
		case RunExperiment:
			c.Steps[i] = p.runExperiment(ro, s)
			p.experimentWeights(s, c, weight)
		case SetCanaryScale, SetHeaderRoute, SetMirrorRoute, Pause, RunAnalysis, RunPlugin:
		}
	}
}

// experimentWeights checks that the templates can get their share of the traffic, beside the canary's weight at the step.
func (p *problems) experimentWeights(s RunExperiment, c Canary, weight int32) {
	field, sum := s.Resolved.Field, weight
	for i, t := range s.Templates {
		if t.Weight == nil {
			continue
		}
		at := fmt.Sprintf("%s.templates[%d].weight", field, i)
		sum += *t.Weight
		switch {
		case *t.Weight < 0:
			p.add(at, "%d is negative: write 0 or more", *t.Weight)
		case c.Traffic == nil:
			p.add(at, "needs trafficRouting: without a router nothing can be sent to the template")
		case i < len(s.Resolved.Templates) && s.Resolved.Templates[i].Portless:
			p.add(at, "needs a Service, and a Service needs a port: no container declares one, so add containerPort")
		default:
			p.feature(at, c, "send to more than two versions", func(a ability) bool { return a.additional })
		}
	}
	if sum > c.MaxWeight {
		p.add(field+".templates", "the weights add up to %d with the canary's %d at this step, but the total is %d: lower one of them", sum, weight, c.MaxWeight)
	}
}

// runExperiment finds what is wrong with the Experiment of a step before there is one.
func (p *problems) runExperiment(ro *v1alpha1.Rollout, s RunExperiment) Step {
	s.selector, s.deadline = ro.Spec.Selector, ro.Spec.ProgressDeadlineSeconds
	e, field := s.RolloutExperimentStep, s.Resolved.Field
	for i, t := range e.Templates {
		at := fmt.Sprintf("%s.templates[%d]", field, i)
		if t.SpecRef != v1alpha1.StableSpecRef && t.SpecRef != v1alpha1.CanarySpecRef {
			p.add(at+".specRef", "%q is not a version: write stable or canary", t.SpecRef)
		}
		p.metadataSyntax(at+".metadata", t.Metadata)
	}
	for i, a := range e.Analyses {
		for j, arg := range a.Args {
			if from := arg.ValueFrom; from != nil && (from.PodTemplateHashValue != nil) == (from.FieldRef != nil) {
				p.add(fmt.Sprintf("%s.analyses[%d].args", field, i), "argument %q (number %d): set exactly one of podTemplateHashValue and fieldRef", arg.Name, j+1)
			}
		}
	}
	if ro.Spec.Selector == nil { // which is reported elsewhere
		return s
	}
	version := Version{Template: &ro.Spec.Template, MinReadySeconds: ro.Spec.MinReadySeconds}
	name := strings.Join([]string{ro.Name, "xxxxxxxxxx", "1", "0"}, "-") // of this shape
	s.Resolved = p.experiment(field, name, s.Spec(version, version, func(arg v1alpha1.AnalysisRunArgument) string { return arg.Value }))
	return s
}
