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

// AnalysisRun is what a person sees of an AnalysisRun.
type AnalysisRun struct {
	Name   string
	Status Status
	Age    time.Duration
	Tally  Tally
	// Jobs that job metrics have made.
	Jobs []Job
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

// jobNameKey is where a measurement of a job metric tells which Job it is.
const jobNameKey = "job-name"

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

// AnalysisStatus is the phase of a measurement, an AnalysisRun or an Experiment. What no controller has looked at yet is pending.
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

func (run AnalysisRun) node() node {
	n := node{icon: "α", row: row{
		name: run.Name, kind: "AnalysisRun", status: run.Status, age: duration.HumanDuration(run.Age), info: withMessage(run.words(), run.Status.Message),
	}}
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
