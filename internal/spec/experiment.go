package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Experiment is an Experiment's spec, resolved.
type Experiment struct {
	// Field is where it is written: "spec", or a step of a Rollout.
	Field     string
	Templates []ExperimentTemplate
	// Timed experiments run for Duration once all templates are available; others until their analyses or a person end them.
	Timed            bool
	Duration         time.Duration
	ProgressDeadline time.Duration
	ScaleDownDelay   time.Duration
	Analyses         []ExperimentAnalysis
	// Terminate: a person, or the Rollout that it belongs to, wants it to end.
	Terminate bool
}

// ExperimentTemplate is one version that an Experiment runs.
type ExperimentTemplate struct {
	Name string
	// Field is where the spec has it.
	Field           string
	Replicas        int32
	MinReadySeconds int32
	Selector        *metav1.LabelSelector
	Template        corev1.PodTemplateSpec
	// PodHash sets its pods apart from those of all other versions.
	PodHash string
	// Service is the name of the Service for its pods, empty for none; Ports are what that has.
	Service string
	Ports   []corev1.ServicePort
	// Portless: a Service is asked for, and no container declares a port that it could have. So there is none.
	Portless bool
}

// ExperimentAnalysis is an analysis that an Experiment runs. The values of its Arguments may have placeholders, see [Placeholders].
type ExperimentAnalysis struct {
	Analysis
	Name      string
	Arguments []v1alpha1.Argument
	// Required: the Experiment ends with it, and not before.
	Required bool
}

// ResolveExperiment reads an Experiment's spec. If there are problems, the result must not be used.
func ResolveExperiment(ex *v1alpha1.Experiment) (Experiment, []Problem) {
	var p problems
	out := p.experiment("spec", ex.Name, ex.Spec)
	if broken := unreadable(ex.Unreadable); len(broken) > 0 {
		return out, broken // the other problems would be about what is missing for these
	}
	return out, p
}

func (p *problems) experiment(field, name string, s v1alpha1.ExperimentSpec) Experiment {
	out := Experiment{
		Field:            field,
		Timed:            s.Duration != "",
		ProgressDeadline: seconds(orDefault(s.ProgressDeadlineSeconds, v1alpha1.DefaultProgressDeadlineSeconds)),
		ScaleDownDelay:   seconds(orDefault(s.ScaleDownDelaySeconds, v1alpha1.DefaultScaleDownDelaySeconds)),
		Terminate:        s.Terminate,
	}
	if out.ScaleDownDelay < 0 {
		p.add(field+".scaleDownDelaySeconds", "%d is negative: write 0 or more", *s.ScaleDownDelaySeconds)
	}
	if out.Timed {
		var err error
		if out.Duration, err = s.Duration.Duration(); err != nil || out.Duration < 0 {
			p.add(field+".duration", `%q is not a duration: write for example "30s", "10m" or "1h30m"`, s.Duration)
		}
	}
	if len(s.Templates) == 0 {
		p.add(field+".templates", "is empty: list at least one template")
	}
	for i := range s.Templates {
		out.Templates = append(out.Templates, p.experimentTemplate(fmt.Sprintf("%s.templates[%d]", field, i), name, &s.Templates[i], out.ProgressDeadline))
	}
	p.distinctTemplates(out.Templates)
	for i := range s.Analyses {
		out.Analyses = append(out.Analyses, p.experimentAnalysis(fmt.Sprintf("%s.analyses[%d]", field, i), s, i))
	}
	return out
}

func (p *problems) experimentTemplate(field, experiment string, t *v1alpha1.TemplateSpec, deadline time.Duration) ExperimentTemplate {
	out := ExperimentTemplate{
		Name:            t.Name,
		Field:           field,
		Replicas:        orDefault(t.Replicas, v1alpha1.DefaultExperimentReplicas),
		MinReadySeconds: t.MinReadySeconds,
		Selector:        t.Selector,
		Template:        *t.Template.DeepCopy(),
	}
	if text := nameProblem(t.Name); text != "" {
		p.add(out.Field+".name", "%s", text)
	}
	if out.Replicas < 0 {
		p.add(out.Field+".replicas", "%d is negative: write 0 or more", out.Replicas)
	}
	if t.MinReadySeconds < 0 || deadline <= seconds(t.MinReadySeconds) {
		p.add(out.Field+".minReadySeconds", "%d must be at least 0 and less than progressDeadlineSeconds, which is %d",
			t.MinReadySeconds, int(deadline.Seconds()))
	}
	p.templateSelector(out)
	delete(out.Template.Labels, v1alpha1.PodTemplateHashLabel) // it was another version's
	out.PodHash = experimentHash(experiment, out)
	if t.Service != nil {
		p.templateService(&out, experiment, t.Service.Name)
	}
	return out
}

// nameProblem is what is wrong with a part of the name of an object.
func nameProblem(name string) string {
	if name == "" {
		return "is empty: each needs a name of its own"
	}
	if texts := validation.IsDNS1123Label(name); len(texts) > 0 {
		return fmt.Sprintf("%q cannot be part of the name of an object: %s", name, strings.Join(texts, "; "))
	}
	return ""
}

func (p *problems) templateSelector(t ExperimentTemplate) {
	field := t.Field + ".selector"
	selector, err := metav1.LabelSelectorAsSelector(t.Selector)
	switch {
	case err != nil:
		p.add(field, "%s", err)
	case selector.Empty():
		p.add(field, "is empty: write matchLabels that the labels of the pod template fulfil")
	case !selector.Matches(labels.Set(t.Template.Labels)):
		p.add(t.Field+".template.metadata.labels", "%s does not match the selector, which is %q: give the template these labels",
			labels.Set(t.Template.Labels), selector)
	}
}

// experimentHash names a template's pods. It must be unlike the hash of every version of a Rollout and of every other template, or
// Services and analyses would take their pods for one another's: many templates are copies of a Rollout's. So the names count too.
func experimentHash(experiment string, t ExperimentTemplate) string {
	named := t.Template.DeepCopy()
	named.Annotations = over(map[string]string{
		v1alpha1.ExperimentNameAnnotation: experiment, v1alpha1.ExperimentTemplateNameAnnotation: t.Name,
	}, named.Annotations)
	return PodHash(named, nil)
}

func (p *problems) templateService(t *ExperimentTemplate, experiment, name string) {
	t.Service, t.Ports = name, servicePorts(t.Template.Spec.Containers)
	if name == "" {
		t.Service = ExperimentChildName(experiment, t.Name)
	}
	if texts := validation.IsDNS1123Label(t.Service); len(texts) > 0 {
		p.add(t.Field+".service.name", "%q cannot be the name of a Service: %s", t.Service, strings.Join(texts, "; "))
	}
	if len(t.Ports) == 0 {
		t.Service, t.Portless = "", true
	}
}

// ExperimentChildName is the name of the ReplicaSet of a template, of its Service where that has no name of its own, and of the first
// AnalysisRun of an analysis. It is wire format.
func ExperimentChildName(experiment, of string) string { return experiment + "-" + of }

// ExperimentServices are the names of the Services that an Experiment wants.
func ExperimentServices(ex *v1alpha1.Experiment) []string {
	var names []string
	for _, t := range ex.Spec.Templates {
		switch {
		case t.Service == nil:
		case t.Service.Name != "":
			names = append(names, t.Service.Name)
		default:
			names = append(names, ExperimentChildName(ex.Name, t.Name))
		}
	}
	return names
}

// servicePorts are the ports of a Service for all ports that containers declare, each once. Where there are several each needs a name,
// and gets one if it has none: "tcp-8080".
func servicePorts(containers []corev1.Container) []corev1.ServicePort {
	type number struct {
		protocol corev1.Protocol
		port     int32
	}
	var ports []corev1.ServicePort
	seen, names := map[number]bool{}, map[string]bool{}
	for _, c := range containers {
		for _, port := range c.Ports {
			protocol := port.Protocol
			if protocol == "" {
				protocol = corev1.ProtocolTCP
			}
			if seen[number{protocol, port.ContainerPort}] {
				continue
			}
			seen[number{protocol, port.ContainerPort}] = true
			name := port.Name
			if names[name] {
				name = "" // of another container's port
			}
			names[name] = true
			service := corev1.ServicePort{Name: name, Protocol: protocol, Port: port.ContainerPort}
			service.TargetPort.IntVal = port.ContainerPort
			ports = append(ports, service)
		}
	}
	if len(ports) < 2 {
		return ports
	}
	for i := range ports {
		if ports[i].Name != "" {
			continue
		}
		name := fmt.Sprintf("%s-%d", strings.ToLower(string(ports[i].Protocol)), ports[i].Port)
		for names[name] {
			name += "-x"
		}
		ports[i].Name, names[name] = name, true
	}
	return ports
}

// distinctTemplates finds templates that would share what each must have for itself.
func (p *problems) distinctTemplates(templates []ExperimentTemplate) {
	names, services := map[string]string{}, map[string]string{}
	for _, t := range templates {
		if first, taken := names[t.Name]; taken && t.Name != "" {
			p.add(t.Field+".name", "%q is already the name of %s: give each template a name of its own", t.Name, first)
		}
		names[t.Name] = t.Field
		if t.Service == "" {
			continue
		}
		if first, taken := services[t.Service]; taken {
			p.add(t.Field+".service.name", "%q is already the Service of %s: give each template one of its own", t.Service, first)
		}
		services[t.Service] = t.Field
	}
}

func (p *problems) experimentAnalysis(field string, s v1alpha1.ExperimentSpec, i int) ExperimentAnalysis {
	a := &s.Analyses[i]
	out := ExperimentAnalysis{
		Name:      a.Name,
		Required:  a.RequiredForCompletion,
		Arguments: a.Args,
		Analysis: Analysis{
			Field:   field,
			Endless: !a.RequiredForCompletion, // it ends with the Experiment at the latest
			RolloutAnalysis: v1alpha1.RolloutAnalysis{
				Templates:            []v1alpha1.AnalysisTemplateRef{{TemplateName: a.TemplateName, ClusterScope: a.ClusterScope}},
				DryRun:               s.DryRun,
				MeasurementRetention: s.MeasurementRetention,
			},
		},
	}
	if s.AnalysisRunMetadata != nil {
		out.AnalysisRunMetadata = *s.AnalysisRunMetadata
	}
	if text := nameProblem(a.Name); text != "" {
		p.add(out.Field+".name", "%s", text)
	}
	for j := range s.Analyses[:i] {
		if s.Analyses[j].Name == a.Name {
			p.add(out.Field+".name", "%q is already the name of analyses[%d]: give each analysis a name of its own", a.Name, j)
		}
	}
	if a.TemplateName == "" {
		p.add(out.Field+".templateName", "is empty: name an AnalysisTemplate")
	}
	p.placeholders(s, out)
	return out
}

var placeholder = regexp.MustCompile(`\{\{\s*(.*?)\s*\}\}`)

// The placeholders that are about the Experiment itself; those about a template are made by [TemplatePlaceholders].
const (
	AvailableAtPlaceholder = "experiment.availableAt"
	FinishedAtPlaceholder  = "experiment.finishedAt"
)

// TemplatePlaceholders are those that stand for the hash of a template's pods and for the name of its ReplicaSet.
func TemplatePlaceholders(template string) (hash, replicaSet string) {
	return "templates." + template + ".podTemplateHash", "templates." + template + ".replicaset.name"
}

// placeholders checks those of an analysis' arguments.
func (p *problems) placeholders(s v1alpha1.ExperimentSpec, a ExperimentAnalysis) {
	known := []string{AvailableAtPlaceholder}
	if s.Duration != "" {
		known = append(known, FinishedAtPlaceholder)
	}
	for _, t := range s.Templates {
		if hash, set := TemplatePlaceholders(t.Name); !slices.Contains(known, hash) {
			known = append(known, hash, set)
		}
	}
	for _, arg := range a.Arguments {
		if arg.Value == nil {
			continue
		}
		for _, found := range placeholder.FindAllStringSubmatch(*arg.Value, -1) {
			if slices.Contains(known, found[1]) {
				continue
			}
			text := "argument %q: %s stands for nothing here: write one of {{%s}}"
			if found[1] == FinishedAtPlaceholder {
				text = "argument %q: %s is not known without a duration: add it, or write one of {{%s}}"
			}
			p.add(a.Field+".args", text, arg.Name, found[0], strings.Join(known, "}}, {{"))
		}
	}
}

// Fill puts values in the place of placeholders.
func Fill(text string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		if value, ok := values[placeholder.FindStringSubmatch(found)[1]]; ok {
			return value
		}
		return found
	})
}
