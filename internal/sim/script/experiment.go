package script

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// experiment is the verb "experiment demo templates='baseline v1; canary v2' duration=10m": a world of its own with an Experiment in
// it. The verb "beside" adds another one.
func (s *Script) experiment(args []string) (string, error) {
	s.begin()
	return s.beside(args)
}

func (s *Script) beside(args []string) (string, error) {
	if len(args) == 0 {
		return "", errors.New("an experiment needs a name")
	}
	ex := &v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Name: args[0], Namespace: "default"}}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "template": // an AnalysisTemplate, and its arguments
			words := strings.Fields(value)
			template := sim.TemplateOfOneMetric(words[0], nil)
			for _, argument := range words[1:] {
				template.Args = append(template.Args, v1alpha1.Argument{Name: argument})
			}
			s.World.PutTemplates(analysis.Templates{{TemplateName: words[0]}: template})
		case "services":
			s.createServices(value)
		default:
			if err := setExperimentField(ex, key, value); err != nil {
				return "", err
			}
		}
	}
	s.World.CreateExperiment(ex)
	return "", nil
}

// edit is the verb "edit demo terminate=true".
func (s *Script) edit(args []string) (string, error) {
	if len(args) < 2 || s.World.Experiment(args[0]) == nil {
		return "", errors.New("edit which experiment, and what?")
	}
	var err error
	s.World.EditExperiment(args[0], func(ex *v1alpha1.Experiment) {
		for _, arg := range args[1:] {
			key, value, _ := strings.Cut(arg, "=")
			err = cmp.Or(err, setExperimentField(ex, key, value))
		}
	})
	return "", err
}

// again is the verb "again demo": the command retry for an experiment.
func (s *Script) again(args []string) (string, error) {
	s.World.EditExperiment(last(args), func(ex *v1alpha1.Experiment) { ex.Status = v1alpha1.ExperimentStatus{} })
	return "", nil
}

// run is the verb "run demo-smoke Failed 'too many errors'": how the AnalysisRun of that name goes.
func (s *Script) run(args []string) (string, error) {
	if len(args) < 2 {
		return "", errors.New("which AnalysisRun, and how?")
	}
	run := s.World.FindRun(s.named(args[0]))
	if run == nil {
		return "", fmt.Errorf("there is no AnalysisRun %s, there are %s", args[0], runNames(s.World))
	}
	s.World.SetPhase(run, v1alpha1.AnalysisPhase(args[1]), strings.Join(args[2:], " "))
	return "", nil
}

// takeName is the verb "taken demo-canary": someone else owns a ReplicaSet of that name.
func (s *Script) takeName(args []string) (string, error) {
	s.World.Take(last(args))
	return "", nil
}

// refuseExperiments is the verb "experiments refused because", "experiments allowed" or "experiments taken web-v2-2-0".
func (s *Script) refuseExperiments(args []string) (string, error) {
	switch first(args) {
	case "refused":
		s.World.RefuseExperiments(strings.Join(args[1:], " "))
	case "taken":
		s.World.TakeExperiment(s.childName(last(args)))
	default:
		s.World.AllowExperiments()
	}
	return "", nil
}

// experimentStep reads "a:stable b:canary:x2 for 1m check smoke watch errors delay 0": templates, and what else there is.
func experimentStep(text string) (*v1alpha1.RolloutExperimentStep, error) {
	step := &v1alpha1.RolloutExperimentStep{}
	words := strings.Fields(text)
	for len(words) > 0 {
		word := words[0]
		if name, more, ok := strings.Cut(word, ":"); ok {
			t, err := experimentStepTemplate(name, strings.Split(more, ":"))
			if err != nil {
				return nil, err
			}
			step.Templates = append(step.Templates, t)
			words = words[1:]
			continue
		}
		if len(words) < 2 {
			return nil, fmt.Errorf("%q of what? in %q", word, text)
		}
		value := words[1]
		words = words[2:]
		switch word {
		case "for":
			step.Duration = v1alpha1.DurationString(value)
		case "delay":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return nil, err
			}
			step.ScaleDownDelaySeconds = new(int32(n))
		case "check", "watch":
			step.Analyses = append(step.Analyses, v1alpha1.RolloutExperimentStepAnalysisTemplateRef{
				Name: value, TemplateName: value, RequiredForCompletion: word == "check",
			})
		default:
			return nil, fmt.Errorf("unknown word %q of an experiment", word)
		}
	}
	return step, nil
}

func experimentStepTemplate(name string, words []string) (v1alpha1.RolloutExperimentTemplate, error) {
	t := v1alpha1.RolloutExperimentTemplate{Name: name, SpecRef: v1alpha1.ReplicaSetSpecRef(words[0])}
	t.Metadata.Labels = map[string]string{"part": name}
	for _, word := range words[1:] {
		n, err := strconv.ParseInt(strings.TrimLeft(word, "xw"), 10, 32)
		switch {
		case err != nil:
			return t, err
		case strings.HasPrefix(word, "x"):
			t.Replicas = new(int32(n))
		case strings.HasPrefix(word, "w"):
			t.Weight = new(int32(n))
		}
	}
	return t, nil
}

// named puts hashes in the place of images in a name such as web-v2-2-0.
func (s *Script) named(name string) string {
	ro := s.World.Rollout()
	if ro == nil {
		return name
	}
	parts := strings.SplitN(name, "-", 3)
	for _, set := range s.World.AllReplicaSets() {
		if len(parts) == 3 && sim.ImageOf(set.Spec.Template) == parts[1] && !sim.OfExperiment(set) {
			parts[1] = set.Labels[v1alpha1.PodTemplateHashLabel]
			return strings.Join(parts, "-")
		}
	}
	return name
}

func runNames(w *sim.World) []string {
	var names []string
	for _, run := range w.Runs() {
		names = append(names, run.Name)
	}
	return names
}

func setExperimentField(ex *v1alpha1.Experiment, key, value string) error {
	s := &ex.Spec
	n, _ := strconv.ParseInt(value, 10, 32)
	switch key {
	case "templates":
		return setTemplates(s, value)
	case "analyses":
		s.Analyses = parseAnalyses(value)
	case "duration":
		s.Duration = v1alpha1.DurationString(value)
	case "terminate":
		s.Terminate = value != "false"
	case "progressDeadlineSeconds":
		s.ProgressDeadlineSeconds = new(int32(n))
	case "scaleDownDelay":
		s.ScaleDownDelaySeconds = new(int32(n))
	case "dryRun":
		s.DryRun = []v1alpha1.DryRun{{MetricName: value}}
	default:
		return fmt.Errorf("unknown field %q", key)
	}
	return nil
}

// setTemplates reads "baseline v1; canary v2 x3 service service=name".
func setTemplates(s *v1alpha1.ExperimentSpec, text string) error {
	s.Templates = nil
	for part := range strings.SplitSeq(text, ";") {
		words := strings.Fields(part)
		if len(words) < 2 {
			return fmt.Errorf("template %q: write its name and its image", part)
		}
		t := experimentTemplate(words[0], words[1])
		for _, word := range words[2:] {
			n, err := strconv.ParseInt(strings.TrimPrefix(word, "x"), 10, 32)
			switch {
			case err == nil:
				t.Replicas = new(int32(n))
			case strings.HasPrefix(word, "service"):
				t.Service = &v1alpha1.TemplateService{Name: strings.TrimPrefix(strings.TrimPrefix(word, "service"), "=")}
			case word == "portless":
				t.Template.Spec.Containers[0].Ports = nil
			default:
				return fmt.Errorf("unknown word %q of a template", word)
			}
		}
		s.Templates = append(s.Templates, t)
	}
	return nil
}

func experimentTemplate(name, image string) v1alpha1.TemplateSpec {
	like := sim.NewRollout("web", image, 1)
	t := v1alpha1.TemplateSpec{Name: name, Selector: like.Spec.Selector, Template: like.Spec.Template}
	t.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080}}
	return t
}

// parseAnalyses reads "smoke required hash={{templates.canary.podTemplateHash}}; watch".
func parseAnalyses(text string) []v1alpha1.ExperimentAnalysisTemplateRef {
	var all []v1alpha1.ExperimentAnalysisTemplateRef
	for part := range strings.SplitSeq(text, ";") {
		words := strings.Fields(part)
		a := v1alpha1.ExperimentAnalysisTemplateRef{Name: first(words), TemplateName: first(words)}
		for _, word := range words[1:] {
			if name, value, ok := strings.Cut(word, "="); ok {
				a.Args = append(a.Args, v1alpha1.Argument{Name: name, Value: &value})
				continue
			}
			a.RequiredForCompletion = word == "required"
		}
		all = append(all, a)
	}
	return all
}

// experimentPass tells what a pass over an Experiment decided.
func (t *teller) experimentPass(w *sim.World, p sim.ExperimentPass) {
	for _, s := range w.AllReplicaSets() {
		if name := s.Annotations[v1alpha1.ExperimentTemplateNameAnnotation]; name != "" {
			t.call(s.Labels[v1alpha1.PodTemplateHashLabel], "hash-of-"+name)
		}
	}
	if t.hushed {
		return
	}
	t.catchUp(w)
	t.experimentWait = ""
	refusal := ""
	for _, n := range p.Plan.Notes {
		line := t.line(w, string(n.Topic), n.Text, n.Reason)
		switch n.Topic {
		case change.TopicWait:
			t.experimentWait += line
		case change.TopicRefuse:
			refusal += line
		default:
			t.lines = append(t.lines, line)
		}
	}
	if text := withoutTimes(refusal); text != t.toldRefusal {
		t.lines = append(t.lines, refusal)
		t.toldRefusal = text
	}
	if t.experimentWait == "" {
		t.toldExperimentWait = ""
	}
	t.outcome(w, p.Outcome, p.Plan.Events)
	if ex := w.Experiment(p.Observed.Experiment.Name); ex != nil {
		text := fmt.Sprintf("%s is %s", ex.Name, cmp.Or(string(ex.Status.Phase), "new"))
		if ex.Status.Message != "" {
			text += ": " + ex.Status.Message
		}
		t.experimentState = t.line(w, "status", text, "")
	}
}

// experimentStatus is the whole status of all Experiments, for a closer look.
func (t *teller) experimentStatus(w *sim.World, row func(key, format string, args ...any)) {
	for _, ex := range w.Experiments() {
		s := ex.Status
		row(ex.Name, "%s %s", cmp.Or(string(s.Phase), "new"), s.Message)
		if s.AvailableAt != nil {
			row("available", "since %s", instant3339(*s.AvailableAt))
		}
		for _, c := range s.Conditions {
			row(string(c.Type), "%s %s at %s: %s", c.Status, c.Reason, instant3339(c.LastUpdateTime), c.Message)
		}
		for _, template := range s.TemplateStatuses {
			text := fmt.Sprintf("%s, %d of %d pods available", template.Status, template.AvailableReplicas, template.Replicas)
			for _, more := range []string{template.ServiceName, template.Message} {
				if more != "" {
					text += ", " + more
				}
			}
			row("  "+template.Name, "%s", text)
		}
		for _, run := range s.AnalysisRuns {
			row("  "+run.Name, "%s %s %s", run.AnalysisRun, run.Phase, run.Message)
		}
	}
}

func instant3339(t metav1.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// argumentText is the arguments of an AnalysisRun, where it has any.
func argumentText(run *v1alpha1.AnalysisRun) string {
	var parts []string
	for _, arg := range run.Spec.Args {
		if arg.Value != nil {
			parts = append(parts, arg.Name+"="+*arg.Value)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	return " with " + strings.Join(parts, ", ")
}
