package spec

import (
	"fmt"
	"math"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Problem is one thing in a spec that keeps the Rollout from going on.
type Problem struct {
	// Field is the path of what is wrong, beginning with "spec.".
	Field string
	// Text says what is wrong with the value and what to write instead.
	Text string
	// Missing is the object that the field names and that does not exist, as in `Service "web"`. Empty where something else is wrong.
	Missing string
}

func (p Problem) String() string { return p.Field + ": " + p.Text }

// MissingObject is the problem of a field that names an object of a namespace where there is none of that name.
func MissingObject(field, kind, name, namespace string) Problem {
	object := fmt.Sprintf("%s %q", kind, name)
	return Problem{
		Field: field, Missing: object,
		Text: fmt.Sprintf("%s not found in namespace %s: create it, or name one that exists", object, namespace),
	}
}

// Resolve reads a Rollout's spec. If there are problems, the result must not be used: all of them are returned, in the order
// of the spec.
func Resolve(ro *v1alpha1.Rollout) (Rollout, []Problem) {
	var p problems
	r := Rollout{
		Replicas:              orDefault(ro.Spec.Replicas, v1alpha1.DefaultReplicas),
		ReplicasUnset:         ro.Spec.Replicas == nil,
		Selector:              ro.Spec.Selector,
		Template:              ro.Spec.Template,
		MinReadySeconds:       ro.Spec.MinReadySeconds,
		RevisionHistoryLimit:  int(orDefault(ro.Spec.RevisionHistoryLimit, v1alpha1.DefaultRevisionHistoryLimit)),
		ProgressDeadline:      seconds(orDefault(ro.Spec.ProgressDeadlineSeconds, v1alpha1.DefaultProgressDeadlineSeconds)),
		ProgressDeadlineAbort: ro.Spec.ProgressDeadlineAbort,
		Paused:                ro.Spec.Paused,
	}
	if w := ro.Spec.RollbackWindow; w != nil {
		r.RollbackWindow = int(w.Revisions)
	}
	r.RunHistory = p.runHistory(ro.Spec.Analysis)
	p.general(ro, r)
	switch strategy := ro.Spec.Strategy; {
	case strategy.Canary != nil && strategy.BlueGreen != nil:
		p.add("spec.strategy", "Multiple Strategies can not be listed: set only one of canary and blueGreen: remove the other")
	case strategy.Canary != nil:
		r.Strategy = p.canary(ro, r.Replicas, r.RevisionHistoryLimit)
		r.StepHash = StepHash(strategy.Canary.Steps)
	case strategy.BlueGreen != nil:
		r.Strategy = p.blueGreen(strategy.BlueGreen, r.Replicas, r.RevisionHistoryLimit)
	default:
		p.add("spec.strategy", "Rollout has missing field '.spec.strategy.canary or .spec.strategy.blueGreen': "+
			"set canary or blueGreen: canary moves traffic a part at a time (canary: {} is a rolling update), blueGreen all at once")
	}
	p.metadata(ro)
	p.serviceNames(ro)
	p.experiments(ro, r.Strategy)
	r.PodHash = PodHash(&ro.Spec.Template, ro.Status.CollisionCount)
	if broken := unreadable(ro.Unreadable); len(broken) > 0 {
		r.ReplicasUnset = false // there may be a number that cannot be read, which must not be written over
		return r, broken        // the other problems would be about what is missing for these
	}
	return r, p
}

// unreadable are the fields of a spec that could not be decoded.
func unreadable(u v1alpha1.Unreadable) []Problem {
	var p problems
	for _, field := range u.Of("spec") {
		p.add(field.Path, "%s", field.Text)
	}
	return p
}

type problems []Problem

func (p *problems) add(field, format string, args ...any) {
	*p = append(*p, Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

type optional struct {
	name string
	set  bool
}

func (p *problems) general(ro *v1alpha1.Rollout, r Rollout) {
	s := ro.Spec
	if w := s.RollbackWindow; w != nil && w.Revisions < 0 {
		p.add("spec.rollbackWindow.revisions", "%d is negative: write 0 or more", w.Revisions)
	}
	notNegative := func(field string, n int32) {
		if n < 0 {
			p.add("spec."+field, "%d is negative: write 0 or more", n)
		}
	}
	notNegative("replicas", r.Replicas)
	notNegative("minReadySeconds", s.MinReadySeconds)
	notNegative("revisionHistoryLimit", int32(r.RevisionHistoryLimit))
	if r.ProgressDeadline <= seconds(s.MinReadySeconds) {
		p.add("spec.progressDeadlineSeconds", "progressDeadlineSeconds (600 unless set) must be greater than minReadySeconds, or no pod could become available in time: they are %d and %d",
			int(r.ProgressDeadline.Seconds()), s.MinReadySeconds)
	}
	p.selector(s)
}

func (p *problems) selector(s v1alpha1.RolloutSpec) {
	if s.WorkloadRef != nil { // and not found, or WithWorkload would have taken it away
		return
	}
	if s.Selector == nil {
		p.add("spec.selector", "Rollout has missing field '.spec.selector': repeat some of template.metadata.labels under selector.matchLabels")
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(s.Selector)
	switch {
	case err != nil:
		p.add("spec.selector", "%s", err)
	case selector.Empty():
		p.add("spec.selector", "empty selector is invalid for deployment: it would select every pod in the namespace: repeat some of template.metadata.labels under matchLabels")
	case !selector.Matches(labels.Set(s.Template.Labels)):
		p.add("spec.template.metadata.labels", "template.metadata.labels must have every label of selector.matchLabels, with the same value, or the Rollout would not find its own pods: "+
			"they are %q, and the selector is %q", labels.Set(s.Template.Labels), selector)
	}
}

// threshold reads the share of pods that completes a step; a negative one counts as none, like in Argo Rollouts.
func (p *problems) threshold(t *v1alpha1.ReplicaProgressThreshold) Threshold {
	if t == nil || t.Value < 0 {
		return AllPods
	}
	percent := t.Type == v1alpha1.ProgressThresholdPercent
	if percent && t.Value > 100 {
		p.add(canaryField+".replicaProgressThreshold.value", "%d percent of the pods are never available: write 100 or less", t.Value)
	}
	return Threshold{Value: t.Value, Percent: percent}
}

// limits resolves maxSurge, rounded up, and maxUnavailable, rounded down and at most all. If both come to nothing one pod may be
// missing: otherwise nothing could ever move.
func (p *problems) limits(c *v1alpha1.CanaryStrategy, replicas int32) (surge, unavailable int32) {
	surge = p.amount(canaryField+".maxSurge", c.MaxSurge, v1alpha1.DefaultMaxSurge, replicas, true)
	unavailable = p.amount(canaryField+".maxUnavailable", c.MaxUnavailable, v1alpha1.DefaultMaxUnavailable, replicas, false)
	if c.MaxSurge != nil && c.MaxUnavailable != nil && isZero(*c.MaxSurge) && isZero(*c.MaxUnavailable) {
		p.add(canaryField+".maxSurge", "MaxSurge and MaxUnavailable both can not be zero: no pod could ever be replaced: set one of them to at least 1")
	}
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, min(unavailable, replicas)
}

func (p *problems) amount(field string, v *intstr.IntOrString, byDefault string, replicas int32, roundUp bool) int32 {
	amount := intstr.FromString(byDefault)
	if v != nil {
		amount = asPercent(*v)
	}
	pods := max(0, replicas) // fewer than none is reported elsewhere
	n, err := intstr.GetScaledValueFromIntOrPercent(&amount, int(pods), roundUp)
	if err != nil || n < 0 {
		p.add(field, "%q must be a number of pods such as 1, or a percentage such as 25%%; neither can be negative", amount.String())
		return 0
	}
	return int32(min(n, math.MaxInt32-int(pods))) // with the pods it must remain a number
}

// asPercent reads a text of digits as a percentage: upstream takes "25" for "25%".
func asPercent(v intstr.IntOrString) intstr.IntOrString {
	if v.Type == intstr.String && v.StrVal != "" && strings.Trim(v.StrVal, "0123456789") == "" {
		v.StrVal += "%"
	}
	return v
}

func isZero(v intstr.IntOrString) bool {
	if v.Type == intstr.Int {
		return v.IntVal == 0
	}
	digits := strings.TrimSuffix(v.StrVal, "%")
	return digits != "" && strings.Trim(digits, "0") == ""
}

const oneKind = "a step must have exactly one of setWeight, pause, experiment, analysis, setCanaryScale, setHeaderRoute, setMirrorRoute and plugin"

func (p *problems) step(field string, s *v1alpha1.CanaryStep, c Canary) Step {
	known := []optional{
		{"setWeight", s.SetWeight != nil},
		{"pause", s.Pause != nil},
		{"setCanaryScale", s.SetCanaryScale != nil},
		{"setHeaderRoute", s.SetHeaderRoute != nil},
		{"setMirrorRoute", s.SetMirrorRoute != nil},
		{"analysis", s.Analysis != nil},
		{"experiment", s.Experiment != nil},
		{"plugin", s.Plugin != nil},
	}
	var set []string
	for _, k := range known {
		if k.set {
			set = append(set, k.name)
		}
	}
	switch len(set) {
	case 0:
		p.add(field, `%s; begin each with its own "- "`, oneKind)
		return nil
	case 1:
	default:
		p.add(field, `%s; begin each with its own "- ": this one has %s`, oneKind, strings.Join(set, " and "))
		return nil
	}
	switch {
	case s.SetWeight != nil:
		if *s.SetWeight < 0 || *s.SetWeight > c.MaxWeight {
			p.add(field+".setWeight", "SetWeight needs to be between 0 and %d, and is %d", c.MaxWeight, *s.SetWeight)
		}
		return SetWeight{Weight: *s.SetWeight}
	case s.Pause != nil:
		return p.pause(field+".pause.duration", s.Pause.Duration)
	case s.Analysis != nil:
		return RunAnalysis{*p.analysis(field+".analysis", s.Analysis)}
	case s.Experiment != nil:
		return RunExperiment{RolloutExperimentStep: *s.Experiment, Resolved: Experiment{Field: field + ".experiment"}}
	case s.SetCanaryScale != nil:
		return p.setCanaryScale(field+".setCanaryScale", s.SetCanaryScale, c)
	case s.SetHeaderRoute != nil:
		return p.setHeaderRoute(field+".setHeaderRoute", s.SetHeaderRoute, c)
	case s.SetMirrorRoute != nil:
		return p.setMirrorRoute(field+".setMirrorRoute", s.SetMirrorRoute, c)
	}
	return p.pluginStep(field+".plugin", s.Plugin)
}

func (p *problems) pluginStep(field string, s *v1alpha1.PluginStep) Step {
	if s.Name == "" {
		p.add(field+".name", "is empty: name a plugin that the administrator lists under stepPlugins in the ConfigMap %s", v1alpha1.ConfigMapName)
	}
	return RunPlugin{Name: s.Name, Config: p.shortSettings(field+".config", s.Config)}
}

func (p *problems) pause(field string, d *intstr.IntOrString) Step {
	if d == nil {
		return Pause{Indefinite: true}
	}
	duration, err := PauseDuration(*d)
	if err != nil {
		p.add(field, "%q %s", d.String(), err)
	}
	return Pause{Duration: duration, Written: d.String()}
}

func orDefault(v *int32, byDefault int32) int32 {
	if v == nil {
		return byDefault
	}
	return *v
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }
