package kubelet

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// event is something that happens to a pod from outside.
type event struct {
	after time.Duration
	do    func(*corev1.Pod)
}

// live lets a pod live as the loop would, and tells what is seen of it.
func live(pod *corev1.Pod, until time.Duration, events []event) []string {
	var lines []string
	deletedAt, before := time.Time{}, ""
	for now := epoch; now.Sub(epoch) <= until; {
		for len(events) > 0 && !now.Before(epoch.Add(events[0].after)) {
			events[0].do(pod)
			events = events[1:]
		}
		if pod.DeletionTimestamp != nil && deletedAt.IsZero() {
			deletedAt = now
		}
		d := next(sighting{pod: pod, hostIP: "192.0.2.1", podIP: "10.244.0.1", deleted: deletedAt}, now, testOptions)
		pod.Status = d.status
		if line := describe(pod); line != before {
			lines = append(lines, fmt.Sprintf("%-6s %s", now.Sub(epoch), line))
			before = line
		}
		if d.remove {
			return append(lines, fmt.Sprintf("%-6s removed", now.Sub(epoch)))
		}
		wake := d.wake
		if len(events) > 0 {
			wake = earliest(wake, epoch.Add(events[0].after))
		}
		if wake.IsZero() {
			break
		}
		now = wake
	}
	return lines
}

var testOptions, _ = Options{CrashBackoffMax: 4 * time.Second}.withDefaults()

func describe(pod *corev1.Pod) string {
	var containers []string
	for _, s := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		containers = append(containers, s.Name+" "+describeContainer(s))
	}
	head := string(pod.Status.Phase)
	if pod.Status.Reason != "" {
		head += " " + pod.Status.Reason
	}
	if statusOf(pod.Status.Conditions, corev1.PodReady) == corev1.ConditionTrue {
		head += " ready"
	}
	return head + ": " + strings.Join(containers, ", ")
}

func describeContainer(s corev1.ContainerStatus) string {
	text := "running"
	switch {
	case s.State.Waiting != nil:
		text = s.State.Waiting.Reason
	case s.State.Terminated != nil:
		text = fmt.Sprintf("exit %d %s", s.State.Terminated.ExitCode, s.State.Terminated.Reason)
	}
	if s.RestartCount > 0 {
		text += fmt.Sprintf(" (restart %d)", s.RestartCount)
	}
	return text
}

// A quirk is how a pod of a test differs from the plainest.
type quirk = func(*corev1.Pod)

func newPod(quirks ...quirk) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "default", UID: "uid-1", Generation: 1},
		Spec: corev1.PodSpec{
			NodeName:      "node-1",
			RestartPolicy: corev1.RestartPolicyAlways,
			Containers:    []corev1.Container{{Name: "web", Image: "nginx:1.27"}},
		},
	}
	for _, q := range quirks {
		q(pod)
	}
	return pod
}

func aServer(*corev1.Pod) {}

func job(policy corev1.RestartPolicy, script string) quirk {
	return func(p *corev1.Pod) {
		p.Spec.RestartPolicy = policy
		p.Spec.Containers[0].Command = []string{"sh", "-c"}
		p.Spec.Containers[0].Args = []string{script}
	}
}

func annotated(name, value string) quirk {
	return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, name, value) }
}

func withoutAnnotations(p *corev1.Pod) { p.Annotations = nil }

func image(name string) quirk {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Image = name }
}

func probed(seconds int32) quirk {
	return func(p *corev1.Pod) { p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{InitialDelaySeconds: seconds} }
}

func preStopSleep(seconds int64) quirk {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}}}
	}
}

func withInit(name, script string) quirk {
	return func(p *corev1.Pod) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: name, Image: "busybox", Command: []string{"sh", "-c", script}})
	}
}

func withSidecar(name string) quirk {
	return func(p *corev1.Pod) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{
			Name: name, Image: "envoy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		})
	}
}

// deleted is what the API server does to a pod that is deleted with a grace period, the first time and again.
func deleted(grace int64) quirk {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp = &metav1.Time{Time: epoch}
		p.DeletionGracePeriodSeconds = &grace
	}
}
