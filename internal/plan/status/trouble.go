package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// firstDoubt is after how long without progress the pods themselves are asked what keeps them. Most are ready before, and then nobody
// needs to read them.
const firstDoubt = 10 * time.Second

// diagnosePods asks the pods of a version that lacks some, the new one first, what keeps them from being ready: at once where the API server
// refuses to create them, and otherwise when there has been no progress for a while, after 10 seconds, 20, 40 and so on until the
// deadline, once more for as long after it has passed, and whenever something else happens. It finds out once a pass, before anything is
// written.
func (p *Status) diagnosePods() {
	v, last := p.short(), p.update.Condition(v1alpha1.ConditionProgressing)
	still := p.world.Now.Sub(last.LastUpdateTime.Time)
	late := last.Reason == v1alpha1.ReasonProgressDeadlineExceeded || !p.world.Now.Before(p.deadline(last))
	if v == nil || p.update.Begun || p.update.Retried || last.LastUpdateTime.IsZero() {
		p.knowsPods = true
		if late {
			p.trouble = p.draft.Cramped
		}
		return
	}
	first := min(firstDoubt, p.world.Spec.ProgressDeadline)
	for again := first; again < p.world.Spec.ProgressDeadline; again *= 2 {
		if still < again {
			p.journal.WakeAt(last.LastUpdateTime.Add(again))
			break
		}
	}
	refusal := v.Refusal()
	if still < first && refusal == "" {
		return
	}
	pods, looked := p.world.Pods[v.Hash]
	if !looked {
		p.journal.Need(change.NeedPods{Hash: v.Hash})
		return
	}
	t := troublesOf(pods, v.Desired(), late)
	t.refusal = refusal
	p.trouble, p.knowsPods = t.String(), true
	if p.trouble != "" {
		p.journal.Note(change.TopicWait, "pods of "+v.Name, p.trouble)
	}
}

// short is the first version that lacks available pods, nil if none does.
func (p *Status) short() *world.Version {
	for _, v := range p.world.All() {
		if v.Counts().Available < v.Desired() {
			return v
		}
	}
	return nil
}

// troubles are what keeps the pods of one version.
type troubles struct {
	// wanted is how many there should be, missing how many of them do not exist, notReady how many exist and are not ready.
	wanted, missing, notReady int32
	// refusal is why those that are missing are not created, if that is known.
	refusal string
	// reasons are what keeps those that are not ready, and how many of them.
	reasons map[string]int32
}

// troublesOf asks the pods. late: their time is up, so all that are not ready have a reason.
func troublesOf(seen []*corev1.Pod, wanted int32, late bool) troubles {
	t := troubles{wanted: wanted, missing: wanted, reasons: map[string]int32{}}
	for _, pod := range seen {
		if !world.Stays(pod) {
			continue
		}
		t.missing--
		if world.IsReady(pod) {
			continue
		}
		t.notReady++
		reason := podTrouble(pod)
		if reason == "" && late {
			reason = unready(pod)
		}
		if reason != "" {
			t.reasons[reason]++
		}
	}
	return t
}

// String says how many of the wanted pods are not ready, and why, the commonest reason first. Empty if nothing is wrong with any: they
// only take their time.
func (t troubles) String() string {
	var parts []string
	if t.missing > 0 && t.refusal != "" {
		parts = append(parts, fmt.Sprintf("%d of %s not created: %s", t.missing, capacity.Pods(t.wanted), t.refusal))
	}
	if len(t.reasons) > 0 {
		sorted := slices.SortedFunc(maps.Keys(t.reasons), func(a, b string) int {
			return cmp.Or(cmp.Compare(t.reasons[b], t.reasons[a]), cmp.Compare(a, b))
		})
		for i, reason := range sorted {
			if n := t.reasons[reason]; n < t.notReady {
				sorted[i] = fmt.Sprintf("%s (%d)", reason, n)
			}
		}
		parts = append(parts, fmt.Sprintf("%d of %s not ready: %s", t.notReady, capacity.Pods(t.wanted), strings.Join(sorted, ", ")))
	}
	return strings.Join(parts, "; ")
}

// podTrouble is what keeps a pod from being ready, in Kubernetes' own word; empty while it is on its way.
func podTrouble(pod *corev1.Pod) string {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return w.Reason
		}
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			return cmp.Or(t.Reason, fmt.Sprintf("exit code %d", t.ExitCode))
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return cmp.Or(c.Reason, "Unschedulable")
		}
	}
	return ""
}

// unready is what a pod says of itself that is not ready and had time enough.
func unready(pod *corev1.Pod) string {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "" {
			return w.Reason
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Reason != "" {
			return c.Reason
		}
	}
	return string(pod.Status.Phase)
}

// tellTrouble adds the analysis that the update waits for, and what keeps the pods, to the sentence of the condition Progressing. That is
// no progress, so its times stay.
func (p *Status) tellTrouble() {
	c := &p.update.Is.Conditions[p.update.Index(v1alpha1.ConditionProgressing)] // setProgressing leaves no status without it
	switch _, trouble, _ := strings.Cut(c.Message, progress.TroubleMark); c.Reason {
	case v1alpha1.ReasonReplicaSetUpdated, v1alpha1.ReasonNewReplicaSetCreated, v1alpha1.ReasonFoundNewReplicaSet,
		v1alpha1.ReasonReplicaSetNotAvailable, v1alpha1.ReasonProgressDeadlineExceeded:
		message := progress.Plain(c.Message) + p.judgedBy()
		switch {
		case p.knowsPods:
			message = p.withTrouble(message)
		case trouble != "": // what was found out before still holds
			message += progress.TroubleMark + trouble
		}
		c.Message = message
	}
}

// judgedBy is the analysis, the Experiment or the plugin that the update waits for, as a sentence; empty if it waits for none.
func (p *Status) judgedBy() string {
	if !p.judge.Judging() {
		return ""
	}
	for _, r := range progress.RunRecords(p.update.Is) {
		if last := *r.Status; last != nil && !analysis.Ended(last.Status) && r.Kind != v1alpha1.RolloutTypeBackground {
			return fmt.Sprintf("%sanalysis %q.", progress.JudgedMark, last.Name)
		}
	}
	if plugin := p.update.PluginRuns(); plugin != "" {
		return fmt.Sprintf("%sstep plugin %q.", progress.JudgedMark, plugin)
	}
	return fmt.Sprintf("%sexperiment %q.", progress.JudgedMark, p.update.Is.Canary.CurrentExperiment)
}

// withTrouble is a sentence with what keeps the pods after it.
func (p *Status) withTrouble(plain string) string {
	if p.trouble == "" {
		return plain
	}
	return plain + progress.TroubleMark + clean.Text(p.trouble)
}
