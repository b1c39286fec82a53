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

// AnalysisRun is what users see of an AnalysisRun.
type AnalysisRun struct {
	Name   string
	Status Status
	Age    time.Duration
	Tally  Tally
	// Metrics that have been measured, other than by Jobs.
	Metrics []Metric
	// Jobs that job metrics have created.
	Jobs []Job
}

// Metric is a metric of an AnalysisRun with its last measurement.
type Metric struct {
	Name string
	// Status is that of the metric, with the message of the last measurement.
	Status Status
	// Age is the time since that measurement ended, or started if it is in progress.
	Age   time.Duration
	Value string
	// Asked is the query, the server and the window.
	Asked  string
	DryRun bool
}

// metricOf is a metric with its last measurement, which there must be.
func metricOf(r v1alpha1.MetricResult, now time.Time) Metric {
	last := r.Measurements[len(r.Measurements)-1]
	m := Metric{
		Name: r.Name, Status: AnalysisStatus(r.Phase, cmp.Or(last.Message, r.Message)),
		Value: last.Value, Asked: last.Metadata[askedKey], DryRun: r.DryRun,
	}
	if at := cmp.Or(last.FinishedAt, last.StartedAt); at != nil {
		m.Age = age(at.Time, now)
	}
	return m
}

// words are the value and where it comes from. A message names what was asked.
func (m Metric) words() string {
	var parts []string
	if m.DryRun {
		parts = append(parts, "dry run:")
	}
	switch {
	case m.Status.Message != "":
		parts = append(parts, m.Status.Message)
	case m.Value != "" && m.Asked != "":
		parts = append(parts, m.Value, "from", m.Asked)
	default:
		parts = append(parts, cmp.Or(m.Value, m.Asked))
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// Line is how the metric is doing.
func (m Metric) Line() string {
	return strings.TrimSuffix(fmt.Sprintf("metric %s %s: %s", m.Name, m.Status.Text, m.words()), ": ")
}

// Tally is how measurements ended, those of metrics that do not count left out.
type Tally struct{ Successful, Failed, Inconclusive, Error int32 }

// String has an icon before each number that is not zero.
func (t Tally) String() string {
	var parts []string
	for _, n := range []struct {
		icon  Icon
		count int32
	}{{IconHealthy, t.Successful}, {IconDegraded, t.Failed}, {IconUnknown, t.Inconclusive}, {IconWarning, t.Error}} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", n.icon, n.count))
		}
	}
	return strings.Join(parts, ",")
}

// Job is a measurement that is a Job.
type Job struct {
	Name   string
	Status Status
	Age    time.Duration
}

// jobNameKey is where a measurement of a job metric stores the name of its Job.
const jobNameKey = "job-name"

// askedKey is where a measurement says what was asked.
const askedKey = "asked"

// AnalysisRunOf is what a person sees of the run at this moment.
func AnalysisRunOf(run *v1alpha1.AnalysisRun, now time.Time) AnalysisRun {
	v := AnalysisRun{
		Name:   run.Name,
		Status: AnalysisStatus(run.Status.Phase, run.Status.Message),
		Age:    age(run.CreationTimestamp.Time, now),
	}
	for _, m := range run.Status.MetricResults {
		if !m.DryRun {
			v.Tally.Successful += m.Successful
			v.Tally.Failed += m.Failed
			v.Tally.Inconclusive += m.Inconclusive
			v.Tally.Error += m.Error
		}
		if n := len(m.Measurements); n > 0 && m.Measurements[n-1].Metadata[jobNameKey] == "" {
			v.Metrics = append(v.Metrics, metricOf(m, now))
		}
		for _, measured := range m.Measurements {
			name := measured.Metadata[jobNameKey]
			if name == "" {
				continue
			}
			job := Job{Name: name, Status: AnalysisStatus(measured.Phase, measured.Message)}
			if measured.StartedAt != nil {
				job.Age = age(measured.StartedAt.Time, now)
			}
			v.Jobs = append(v.Jobs, job)
		}
	}
	return v
}

func analysisRunsOf(runs []*v1alpha1.AnalysisRun, now time.Time) []AnalysisRun {
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b *v1alpha1.AnalysisRun) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var out []AnalysisRun
	for _, run := range runs {
		out = append(out, AnalysisRunOf(run, now))
	}
	return out
}

// AnalysisStatus is the phase of a measurement, an AnalysisRun or an Experiment. One that no controller has reconciled yet
// is pending.
func AnalysisStatus(phase v1alpha1.AnalysisPhase, message string) Status {
	if phase == "" {
		phase = v1alpha1.AnalysisPhasePending
	}
	icon := IconUnknown
	switch phase {
	case v1alpha1.AnalysisPhasePending:
		icon = IconPending
	case v1alpha1.AnalysisPhaseRunning:
		icon = IconProgressing
	case v1alpha1.AnalysisPhaseSuccessful:
		icon = IconHealthy
	case v1alpha1.AnalysisPhaseFailed:
		icon = IconDegraded
	case v1alpha1.AnalysisPhaseError:
		icon = IconWarning
	case v1alpha1.AnalysisPhaseInconclusive:
	}
	return Status{Icon: icon, Text: string(phase), Message: message}
}

// ended reports whether a run or an experiment is over.
func ended(s Status) bool {
	switch v1alpha1.AnalysisPhase(s.Text) {
	case v1alpha1.AnalysisPhasePending, v1alpha1.AnalysisPhaseRunning:
		return false
	case v1alpha1.AnalysisPhaseSuccessful, v1alpha1.AnalysisPhaseFailed, v1alpha1.AnalysisPhaseError, v1alpha1.AnalysisPhaseInconclusive:
	}
	return true
}

// node has the metrics of a run that is under way, or that is not successful.
func (run AnalysisRun) node(f fold) node {
	n := node{icon: "α", row: row{
		name: run.Name, kind: "AnalysisRun", status: run.Status, age: duration.HumanDuration(run.Age), info: withMessage(run.words(), run.Status.Message),
	}}
	for _, m := range run.Metrics {
		if f < foldPods && run.Status.Icon != IconHealthy {
			n.children = append(n.children, node{icon: "μ", row: row{name: m.Name, kind: "Metric", status: m.Status, age: duration.HumanDuration(m.Age), info: m.words()}})
		}
	}
	for _, j := range run.Jobs {
		n.children = append(n.children, node{icon: "⊞", row: row{
			name: j.Name, kind: "Job", status: j.Status, age: duration.HumanDuration(j.Age), info: withMessage(nil, j.Status.Message),
		}})
	}
	return n
}

func (run AnalysisRun) words() []string {
	if tally := run.Tally.String(); tally != "" {
		return []string{tally}
	}
	return nil
}

// Over reports whether the run has ended.
func (run AnalysisRun) Over() bool { return ended(run.Status) }

// Line is how the run is doing.
func (run AnalysisRun) Line() string {
	return strings.TrimSpace(fmt.Sprintf("analysis %s %s %s", run.Name, run.Status.Text, run.Tally))
}
