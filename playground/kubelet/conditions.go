package kubelet

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons of pod conditions, those that a real kubelet gives.
const (
	reasonContainersNotReady       = "ContainersNotReady"
	reasonContainersNotInitialized = "ContainersNotInitialized"
	reasonReadinessGatesNotReady   = "ReadinessGatesNotReady"
	reasonPodCompleted             = "PodCompleted"
	reasonPodFailed                = "PodFailed"
)

// ownConditions are those that the kubelet writes. The others belong to the API server, controllers and readiness gates.
var ownConditions = map[corev1.PodConditionType]bool{
	corev1.PodReadyToStartContainers: true,
	corev1.PodInitialized:            true,
	corev1.ContainersReady:           true,
	corev1.PodReady:                  true,
}

// withConditions completes a status with the conditions that follow from it.
func withConditions(pod *corev1.Pod, status corev1.PodStatus, b behavior, now time.Time) corev1.PodStatus {
	containers := containersReady(status, b)
	conditions := []corev1.PodCondition{readyToStart(status), initialized(status, b), podReady(pod, status, containers), containers}
	if statusOf(status.Conditions, corev1.PodScheduled) != corev1.ConditionTrue { // Bound by its manifest, not by a scheduler.
		conditions = append(conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
	}
	for _, c := range conditions {
		status.Conditions = setCondition(status.Conditions, c, pod.Generation, now)
	}
	status.ObservedGeneration = pod.Generation
	return status
}

func readyToStart(status corev1.PodStatus) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse}
	if status.PodIP != "" && endCondition(status, c.Type).Reason == "" {
		c.Status = corev1.ConditionTrue
	}
	return c
}

func initialized(status corev1.PodStatus, b behavior) corev1.PodCondition {
	var incomplete []string
	for _, c := range b.inits {
		if !c.letsPass(c.find(status.InitContainerStatuses)) {
			incomplete = append(incomplete, c.name)
		}
	}
	if len(incomplete) == 0 {
		c := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
		if status.Phase == corev1.PodSucceeded {
			c.Reason = reasonPodCompleted
		}
		return c
	}
	return no(corev1.PodInitialized, reasonContainersNotInitialized, "containers with incomplete status: [%s]", strings.Join(incomplete, " "))
}

func containersReady(status corev1.PodStatus, b behavior) corev1.PodCondition {
	if c := endCondition(status, corev1.ContainersReady); c.Reason != "" {
		return c
	}
	var unready []string
	for _, c := range b.inits {
		if c.isSidecar && !c.find(status.InitContainerStatuses).Ready {
			unready = append(unready, c.name)
		}
	}
	for _, c := range b.mains {
		if !c.find(status.ContainerStatuses).Ready {
			unready = append(unready, c.name)
		}
	}
	if len(unready) == 0 {
		return corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}
	}
	return no(corev1.ContainersReady, reasonContainersNotReady, "containers with unready status: [%s]", strings.Join(unready, " "))
}

func podReady(pod *corev1.Pod, status corev1.PodStatus, containers corev1.PodCondition) corev1.PodCondition {
	if containers.Status != corev1.ConditionTrue {
		containers.Type = corev1.PodReady
		return containers
	}
	var closed []string
	for _, gate := range pod.Spec.ReadinessGates {
		switch statusOf(status.Conditions, gate.ConditionType) {
		case corev1.ConditionTrue:
		case "":
			closed = append(closed, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		default:
			closed = append(closed, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType,
				statusOf(status.Conditions, gate.ConditionType)))
		}
	}
	if len(closed) > 0 {
		return no(corev1.PodReady, reasonReadinessGatesNotReady, "%s", strings.Join(closed, ", "))
	}
	return corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
}

// endCondition is what a condition of a pod says that has ended; without a reason if it has not.
func endCondition(status corev1.PodStatus, kind corev1.PodConditionType) corev1.PodCondition {
	c := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse}
	switch status.Phase {
	case corev1.PodSucceeded:
		c.Reason = reasonPodCompleted
	case corev1.PodFailed:
		c.Reason = reasonPodFailed
	default:
	}
	return c
}

func no(kind corev1.PodConditionType, reason, message string, args ...any) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(message, args...)}
}

func statusOf(conditions []corev1.PodCondition, kind corev1.PodConditionType) corev1.ConditionStatus {
	for _, c := range conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}

// setCondition puts a condition in place of the one of its type. The time of transition moves with the status only.
func setCondition(conditions []corev1.PodCondition, c corev1.PodCondition, generation int64, now time.Time) []corev1.PodCondition {
	c.ObservedGeneration = generation
	c.LastTransitionTime = metav1.NewTime(now)
	for i, old := range conditions {
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		conditions[i] = c
		return conditions
	}
	return append(conditions, c)
}
