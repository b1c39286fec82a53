package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Experiment is what users see of an Experiment.
type Experiment struct {
	Name      string
	Namespace string
	Age       time.Duration
	Status    Status
	// Duration is how long the experiment runs once its templates are available, 0 for no limit.
	Duration time.Duration
	// Run is how much of that has passed; nil before it has started and without a limit.
	Run    *Pause
	Images []Image
	// ReplicaSets are those of the templates, in the same order, each with its template as a tag.
	ReplicaSets  []ReplicaSet
	AnalysisRuns []AnalysisRun
}

// ExperimentOf is what users see of the Experiment now.
func ExperimentOf(o Objects, now time.Time) Experiment {
	exp := o.Experiment
	e := Experiment{
		Name:      exp.Name,
		Namespace: exp.Namespace,
		Age:       age(exp.CreationTimestamp.Time, now),
		Status:    AnalysisStatus(exp.Status.Phase, exp.Status.Message),
	}
	if broken := exp.Unreadable.Of("spec"); len(broken) > 0 && !e.Over() && !strings.HasPrefix(e.Status.Message, v1alpha1.ReasonInvalidSpec) {
		e.Status.Message = unreadable(broken).Message
	}
	e.Duration, _ = time.ParseDuration(string(exp.Spec.Duration)) // a duration that does not parse never ends by itself
	if at := exp.Status.AvailableAt; at != nil && e.Duration > 0 {
		e.Run = &Pause{Elapsed: min(age(at.Time, now), e.Duration), Total: e.Duration}
	}
	pods := podsByOwner(o.Pods)
	for _, rs := range controlled(o.ReplicaSets, exp) {
		v := replicaSetOf(rs, pods[rs.UID], now)
		if name := rs.Annotations[v1alpha1.ExperimentTemplateNameAnnotation]; name != "" {
			v.Tags = []Tag{templateTag(name)}
		}
		e.ReplicaSets = append(e.ReplicaSets, v)
	}
	order := func(rs ReplicaSet) int {
		return slices.IndexFunc(exp.Spec.Templates, func(t v1alpha1.TemplateSpec) bool { return rs.is(templateTag(t.Name)) })
	}
	slices.SortFunc(e.ReplicaSets, func(a, b ReplicaSet) int { return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.Name, b.Name)) })
	e.AnalysisRuns = analysisRunsOf(controlled(o.AnalysisRuns, exp), now)
	e.Images = imagesOf(e.ReplicaSets)
	return e
}

// templateTag is the role of a template of an experiment.
func templateTag(name string) Tag { return Tag("Σ:" + name) }

// Over reports whether the experiment has ended.
func (e Experiment) Over() bool { return ended(e.Status) }

// Text is the whole picture, folded if it is higher than the terminal.
func (e Experiment) Text(o TextOptions) string { return draw(o, e.lines) }

func (e Experiment) lines(f fold, limit int) []line {
	lines := []line{
		field("Name:", span{text: e.Name}),
		field("Namespace:", span{text: e.Namespace}),
		field("Status:", span{text: e.Status.String(), color: iconColor(e.Status.Icon)}),
	}
	lines = append(lines, wrapped("Message:", e.Status.Message, limit)...)
	if e.Duration > 0 {
		duration := []span{{text: human(e.Duration)}}
		if e.Run != nil && !e.Over() {
			duration = append(append(duration, span{text: gap}), e.Run.bar()...)
		}
		lines = append(lines, field("Duration:", duration...))
	}
	lines = append(lines, imageLines(e.Images, limit)...)
	lines = append(lines, line{})
	return append(lines, table(e.node(f).rows("", ""), limit)...)
}

func (e Experiment) node(f fold) node {
	n := node{icon: "Σ", row: row{
		name: e.Name, kind: "Experiment", status: e.Status, age: duration.HumanDuration(e.Age), info: withMessage(nil, e.Status.Message),
	}}
	for _, rs := range e.ReplicaSets {
		n.children = append(n.children, rs.node(f))
	}
	for _, run := range e.AnalysisRuns {
		n.children = append(n.children, run.node(f))
	}
	return n
}

// Summary is how the Experiment is doing in one line, for logs.
func (e Experiment) Summary() string {
	parts := []string{e.Status.String()}
	if e.Status.Message != "" {
		parts[0] += " - " + e.Status.Message
	}
	for _, rs := range e.ReplicaSets {
		if rs.Desired > 0 || rs.Current > 0 {
			parts = append(parts, fmt.Sprintf("%s %d/%d", tagList(rs.Tags), rs.Available, rs.Desired))
		}
	}
	for _, run := range e.AnalysisRuns {
		if !run.Over() {
			parts = append(parts, run.Line())
		}
	}
	return oneLine(strings.Join(append(parts, troubles(e.ReplicaSets)...), "; "))
}

func tagList(tags []Tag) string {
	words := make([]string, len(tags))
	for i, t := range tags {
		words[i] = string(t)
	}
	return strings.Join(words, ",")
}

// Line is how the experiment is doing.
func (e Experiment) Line() string { return fmt.Sprintf("experiment %s %s", e.Name, e.Status.Text) }
