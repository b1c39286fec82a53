package view_test

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/view"
)

var now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// world builds a Rollout with its versions.
type world struct{ view.Objects }

func canaryWorld(replicas int32, steps ...v1alpha1.CanaryStep) *world {
	return &world{view.Objects{Rollout: &v1alpha1.Rollout{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "ro", Generation: 2, CreationTimestamp: ago(3 * time.Hour)},
		Spec: v1alpha1.RolloutSpec{
			Replicas: ptr.To(replicas),
			Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{Steps: steps}},
		},
		Status: v1alpha1.RolloutStatus{ObservedGeneration: "2"},
	}}}
}

func blueGreenWorld(replicas int32, autoPromotion int32) *world {
	w := canaryWorld(replicas)
	w.Rollout.Spec.Strategy = v1alpha1.RolloutStrategy{BlueGreen: &v1alpha1.BlueGreenStrategy{
		ActiveService: "web", PreviewService: "web-preview", AutoPromotionSeconds: autoPromotion,
	}}
	return w
}

func weight(n int32) v1alpha1.CanaryStep { return v1alpha1.CanaryStep{SetWeight: ptr.To(n)} }

func pause(d string) v1alpha1.CanaryStep {
	if d == "" {
		return v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{}}
	}
	return v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{Duration: ptr.To(intstr.FromString(d))}}
}

func (w *world) status(phase v1alpha1.RolloutPhase, message string) *world {
	w.Rollout.Status.Phase, w.Rollout.Status.Message = phase, message
	return w
}

func (w *world) step(i int32) *world { w.Rollout.Status.CurrentStepIndex = &i; return w }

func (w *world) hashes(current, stable string) *world {
	w.Rollout.Status.CurrentPodHash, w.Rollout.Status.StableRS = current, stable
	return w
}

func (w *world) paused(reason v1alpha1.PauseReason, since time.Duration) *world {
	w.Rollout.Status.PauseConditions = []v1alpha1.PauseCondition{{Reason: reason, StartTime: ago(since)}}
	w.Rollout.Status.ControllerPause = true
	return w
}

// version adds a ReplicaSet with pods that are all alike.
func (w *world) version(revision int, hash, image string, pods int, change ...func(*corev1.Pod)) *world {
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-" + hash, Namespace: "shop", UID: types.UID(hash), CreationTimestamp: ago(time.Hour / time.Duration(revision)),
			Labels:          map[string]string{v1alpha1.PodTemplateHashLabel: hash},
			Annotations:     map[string]string{v1alpha1.RevisionAnnotation: fmt.Sprint(revision)},
			OwnerReferences: []metav1.OwnerReference{{UID: "ro", Controller: ptr.To(true)}},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To(int32(pods))},
	}
	rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "nginx", Image: image}}
	for i := range pods {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%s", rs.Name, []string{"2xk4q", "7bwzn", "c9d5t", "hf6lm", "q8vrs"}[i%5]), Namespace: "shop",
				CreationTimestamp: ago(90*time.Second - time.Duration(i)*time.Second),
				OwnerReferences:   []metav1.OwnerReference{{UID: rs.UID, Controller: ptr.To(true)}},
			},
			Spec: corev1.PodSpec{Containers: rs.Spec.Template.Spec.Containers},
			Status: corev1.PodStatus{
				Phase:             corev1.PodRunning,
				Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
				ContainerStatuses: []corev1.ContainerStatus{{Name: "nginx", Ready: true}},
			},
		}
		for _, c := range change {
			c(p)
		}
		if p.Status.ContainerStatuses[0].Ready {
			rs.Status.AvailableReplicas++
		}
		w.Pods = append(w.Pods, p)
	}
	rs.Status.Replicas = int32(pods)
	w.ReplicaSets = append(w.ReplicaSets, rs)
	w.count(revision, rs.Status)
	return w
}

func (w *world) count(revision int, s appsv1.ReplicaSetStatus) {
	total := &w.Rollout.Status
	total.Replicas += s.Replicas
	total.ReadyReplicas += s.AvailableReplicas
	total.AvailableReplicas += s.AvailableReplicas
	if revision == len(w.ReplicaSets) {
		total.UpdatedReplicas = s.Replicas
	}
}

func waiting(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodPending
		p.Status.ContainerStatuses[0].Ready = false
		p.Status.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: message}
	}
}

func crashing(p *corev1.Pod) {
	waiting("CrashLoopBackOff", "back-off 40s restarting failed container")(p)
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses[0].RestartCount = 4
	p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137}
}
