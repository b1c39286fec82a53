package view

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Pod is one pod of a version.
type Pod struct {
	Name string
	// Status is Running, or Kubernetes' word for why the pod is not: ImagePullBackOff, Init:1/2, Terminating. Its
	// message says why the pod is not ready.
	Status Status
	Age    time.Duration
	// Ready of Containers are ready.
	Ready, Containers int
	Restarts          int
}

func (p Pod) ready() bool { return p.Status.Icon == IconHealthy }

func podOf(p *corev1.Pod, now time.Time) Pod {
	v := Pod{Name: p.Name, Age: age(p.CreationTimestamp.Time, now), Containers: len(p.Spec.Containers)}
	sidecars := map[string]bool{}
	for _, c := range p.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars[c.Name] = true
			v.Containers++
		}
	}
	for _, s := range p.Status.InitContainerStatuses {
		v.Restarts += int(s.RestartCount)
		if sidecars[s.Name] && s.Ready {
			v.Ready++
		}
	}
	for _, s := range p.Status.ContainerStatuses {
		v.Restarts += int(s.RestartCount)
		if s.Ready {
			v.Ready++
		}
	}
	v.Status = podStatus(p, sidecars)
	return v
}

// podStatus is the first that matches, in the words that kubectl uses.
func podStatus(p *corev1.Pod, sidecars map[string]bool) Status {
	if p.DeletionTimestamp != nil {
		return Status{Icon: IconProgressing, Text: "Terminating"}
	}
	if p.Status.Reason != "" { // Evicted, NodeLost: the pod as a whole has ended
		return status(p.Status.Reason, p.Status.Message)
	}
	if s, waiting := initStatus(p, sidecars); waiting {
		return s
	}
	for _, c := range p.Status.ContainerStatuses {
		if s, troubled := containerStatus(c); troubled {
			return s
		}
	}
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		return Status{Icon: IconHealthy, Text: "Completed"}
	case corev1.PodFailed:
		return Status{Icon: IconDegraded, Text: "Failed", Message: p.Status.Message}
	case corev1.PodUnknown:
		return Status{Icon: IconUnknown, Text: "Unknown", Message: p.Status.Message}
	case corev1.PodPending:
	case corev1.PodRunning:
		if c := podCondition(p, corev1.PodReady); c != nil && c.Status != corev1.ConditionTrue {
			return Status{Icon: IconProgressing, Text: "Running", Message: c.Message}
		}
		return Status{Icon: IconHealthy, Text: "Running"}
	}
	if c := podCondition(p, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return Status{Icon: IconWarning, Text: "Pending", Message: c.Message}
	}
	return Status{Icon: IconProgressing, Text: "Pending"}
}

// initStatus is the state of the pod's init containers, if they keep the others from starting.
func initStatus(p *corev1.Pod, sidecars map[string]bool) (Status, bool) {
	for i, c := range p.Status.InitContainerStatuses {
		switch w, t := c.State.Waiting, c.State.Terminated; {
		case t != nil && t.ExitCode == 0, sidecars[c.Name] && c.Started != nil && *c.Started:
			continue
		case t != nil:
			return status("Init:"+terminatedText(t), t.Message), true
		case w != nil && w.Reason != "" && w.Reason != "PodInitializing":
			return status("Init:"+w.Reason, w.Message), true
		}
		return Status{Icon: IconProgressing, Text: fmt.Sprintf("Init:%d/%d", i, len(p.Spec.InitContainers))}, true
	}
	return Status{}, false
}

func containerStatus(c corev1.ContainerStatus) (Status, bool) {
	if w := c.State.Waiting; w != nil && w.Reason != "" {
		message := w.Message
		if last := c.LastTerminationState.Terminated; last != nil && w.Reason == "CrashLoopBackOff" {
			message = fmt.Sprintf("%s ended with exit code %d", c.Name, last.ExitCode)
		}
		return status(w.Reason, message), true
	}
	if t := c.State.Terminated; t != nil && (t.ExitCode != 0 || t.Signal != 0) {
		return status(terminatedText(t), t.Message), true
	}
	return Status{}, false
}

func terminatedText(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

// status finds the icon for a reason. States on the way to Running are progress, everything else is trouble.
func status(reason, message string) Status {
	icon := IconDegraded
	switch strings.TrimPrefix(reason, "Init:") {
	case "ContainerCreating", "PodInitializing", "Completed":
		icon = IconProgressing
	case "NodeLost", "ContainerStatusUnknown":
		icon = IconUnknown
	}
	return Status{Icon: icon, Text: reason, Message: message}
}

func podCondition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}
