package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// firstDoubt is after how long without progress the pods themselves are asked what keeps them. Most are ready before, and then nobody
// needs to read them.
const firstDoubt = 10 * time.Second

// doubt asks the new version's pods what keeps them from being ready, when there has been no progress for a while: after 10 seconds, 20,
// 40 and so on until the deadline, and whenever something else happens. It finds out once a pass, before anything is written.
func (p *pass) doubt() {
	missing := p.new != nil && p.new.desired() > 0 && p.new.fleet().available < p.new.desired()
	last := p.condition(v1alpha1.ConditionProgressing)
	if !missing || p.begun || p.retried || last.LastUpdateTime.IsZero() {
		p.knowsPods = true
		return
	}
	still := p.Now.Sub(last.LastUpdateTime.Time)
	for again := firstDoubt; again < p.spec.ProgressDeadline && last.Reason != v1alpha1.ReasonProgressDeadlineExceeded; again *= 2 {
		if still < again {
			p.wake(last.LastUpdateTime.Add(again))
			break
		}
	}
	if still < firstDoubt {
		return
	}
	pods, looked := p.Pods[p.new.hash]
	if !looked {
		p.need(NeedPods{Hash: p.new.hash})
		return
	}
	p.trouble, p.knowsPods = troubleOf(pods, p.new.desired()), true
	if p.trouble != "" {
		p.note(TopicWait, "pods of "+p.new.Name, p.trouble)
	}
}

// troubleOf says how many of the wanted pods are not ready, and why, the commonest reason first. Empty if nothing is wrong with any: they
// only take their time.
func troubleOf(seen []*corev1.Pod, wanted int32) string {
	reasons, notReady := map[string]int{}, 0
	for _, pod := range seen {
		if !stays(pod) || isReady(pod) {
			continue
		}
		notReady++
		if reason := podTrouble(pod); reason != "" {
			reasons[reason]++
		}
	}
	if len(reasons) == 0 {
		return ""
	}
	sorted := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
		return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
	})
	for i, reason := range sorted {
		if n := reasons[reason]; n < notReady {
			sorted[i] = fmt.Sprintf("%s (%d)", reason, n)
		}
	}
	return fmt.Sprintf("%d of %s not ready: %s", notReady, pods(wanted), strings.Join(sorted, ", "))
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
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

// tellTrouble puts what keeps the pods behind the sentence of the condition Progressing. That is no progress, so its times stay.
func (p *pass) tellTrouble() {
	i := p.index(v1alpha1.ConditionProgressing)
	if i < 0 || !p.knowsPods { // what was found out before still holds
		return
	}
	c := &p.is.Conditions[i]
	plain, _, _ := strings.Cut(c.Message, troubleMark)
	switch c.Reason {
	case v1alpha1.ReasonReplicaSetUpdated, v1alpha1.ReasonNewReplicaSetCreated, v1alpha1.ReasonFoundNewReplicaSet,
		v1alpha1.ReasonReplicaSetNotAvailable, v1alpha1.ReasonProgressDeadlineExceeded:
		if p.trouble != "" {
			plain += troubleMark + p.trouble
		}
		c.Message = plain
	}
}

// troubleMark ends the sentence that tools know, and begins the one about pods.
const troubleMark = " Waiting for pods: "

// isPlain reports whether a condition says the same as a message, whatever it says of pods besides.
func isPlain(have, message string) bool {
	plain, _, _ := strings.Cut(have, troubleMark)
	return plain == message
}
