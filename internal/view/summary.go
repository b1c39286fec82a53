package view

import (
	"fmt"
	"slices"
	"strings"
)

// Summary is the state of the Rollout in one line, for logs. It stays the same as long as nothing changes: no ages, no
// countdowns.
//
//	॥ Paused - CanaryPauseStep; step 2/4 (pause: 10s); weight 10; canary 1/1, stable 9/9
func (r Rollout) Summary() string {
	parts := []string{r.Status.String()}
	if r.Status.Message != "" {
		parts[0] += " - " + r.Status.Message
	}
	if s := r.CurrentStep(); s != nil && s.State == StepCurrent {
		parts = append(parts, fmt.Sprintf("step %d/%d (%s)", r.StepsDone+1, len(r.Steps), s.Text))
	}
	if r.Strategy == Canary && r.updating() {
		weight := fmt.Sprintf("weight %d", r.SetWeight)
		if r.ActualWeight != r.SetWeight {
			weight += fmt.Sprintf(", now %d", r.ActualWeight)
		}
		parts = append(parts, weight)
	}
	if sizes := r.sizes(); sizes != "" {
		parts = append(parts, sizes)
	}
	for _, rev := range r.Revisions {
		for _, e := range rev.Experiments {
			if !e.Over() {
				parts = append(parts, e.Line())
			}
		}
		for _, run := range rev.AnalysisRuns {
			if !run.Over() {
				parts = append(parts, run.Line())
			}
		}
	}
	parts = append(parts, troubles(r.everyReplicaSet())...)
	return oneLine(strings.Join(parts, "; "))
}

// updating is true while two versions have a role.
func (r Rollout) updating() bool {
	return slices.ContainsFunc(r.ReplicaSets(), func(rs ReplicaSet) bool { return rs.is(TagCanary) })
}

// sizes are the versions that have or should have pods, and how many of them are available.
func (r Rollout) sizes() string {
	var sizes []string
	for i, rs := range r.ReplicaSets() {
		if rs.Desired == 0 && rs.Current == 0 {
			continue
		}
		name := "old " + rs.Hash
		switch {
		case len(rs.Tags) > 0:
			name = string(rs.Tags[0])
		case i == 0: // too new for the status to include it
			name = "new"
		}
		size := fmt.Sprintf("%s %d/%d", name, rs.Available, rs.Desired)
		if leaving := rs.Current - rs.Desired; leaving > 0 {
			size += fmt.Sprintf(" (%d leaving)", leaving)
		}
		sizes = append(sizes, size)
	}
	return strings.Join(sizes, ", ")
}

// troubles are the pods in trouble, one for each kind of trouble.
func troubles(sets []ReplicaSet) []string {
	count := map[string]int{}
	var reasons []string
	for _, rs := range sets {
		for _, p := range rs.Pods {
			if p.Status.Icon != IconDegraded && p.Status.Icon != IconWarning {
				continue
			}
			if count[p.Status.Text] == 0 {
				reasons = append(reasons, p.Status.Text)
			}
			count[p.Status.Text]++
		}
	}
	for i, reason := range reasons {
		pods := "pod"
		if count[reason] > 1 {
			pods = "pods"
		}
		reasons[i] = fmt.Sprintf("%d %s %s", count[reason], pods, reason)
	}
	return reasons
}
