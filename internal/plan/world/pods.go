package world

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// correctAvailable counts available pods from the pods themselves until a restart is done, if they were listed. A ReplicaSet's status may not report
// a recent eviction yet, and scaling down by it would delete the replacement.
func (w *World) correctAvailable() {
	at := w.Rollout.Spec.RestartAt
	if at == nil || at.Equal(w.Rollout.Status.RestartedAt) {
		return
	}
	for _, v := range w.All() {
		if pods, looked := w.Pods[v.Hash]; looked {
			v.Unreported = v.availableByPods(pods, w.Now)
		}
	}
}

// availableByPods takes the number of available pods from the pods, where that is less than what the ReplicaSet says, and reports whether it is.
func (v *Version) availableByPods(pods []*corev1.Pod, now time.Time) bool {
	available := int32(0)
	for _, pod := range pods {
		if IsAvailable(pod, v.Spec.MinReadySeconds, now) {
			available++
		}
	}
	if v.Status.AvailableReplicas <= available {
		return false
	}
	set := *v.ReplicaSet // the cache's own stays as it is
	set.Status.AvailableReplicas = available
	v.ReplicaSet = &set
	return true
}

// Stays reports whether a pod is one that its ReplicaSet counts.
func Stays(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// IsAvailable reports whether a pod stays and has been ready for at least minReadySeconds.
func IsAvailable(pod *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	if !Stays(pod) {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return !now.Before(c.LastTransitionTime.Add(time.Duration(minReadySeconds) * time.Second))
		}
	}
	return false
}

// CreatedBefore are the pods that stay and are older than an instant.
func CreatedBefore(pods []*corev1.Pod, at *metav1.Time) []*corev1.Pod {
	var old []*corev1.Pod
	for _, pod := range pods {
		if Stays(pod) && pod.CreationTimestamp.Before(at) {
			old = append(old, pod)
		}
	}
	return old
}

// IsReady reports whether a pod is ready.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
