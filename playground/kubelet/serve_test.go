package kubelet

import (
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/playground/serve"
)

// A server listens while its container runs: through the preStop hook, and not after it.
func TestServe(t *testing.T) {
	probe, err := net.Listen("tcp4", "127.9.9.8:0")
	if err != nil {
		t.Skipf("this machine has no 127.9.9.8: %v", err)
	}
	port := int32(probe.Addr().(*net.TCPAddr).Port)
	if err := probe.Close(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "shop", UID: "1", Annotations: map[string]string{ReadyAfterAnnotation: "0s"}}}
	pod.Spec.Containers = []corev1.Container{{
		Name: "app", Image: serve.Image + ":v1", Ports: []corev1.ContainerPort{{ContainerPort: port}},
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}},
	}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", ContainerID: "first", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(begin)}},
	}}
	pods := serve.NewPods(slog.New(slog.DiscardHandler))
	defer pods.KillAll()
	k := &kubelet{options: Options{Serve: pods}}
	listens := func() bool {
		conn, err := net.Dial("tcp4", fmt.Sprintf("127.9.9.8:%d", port))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	visit := func(s sighting, at time.Duration) {
		t.Helper()
		s.pod, s.podIP = pod, "10.9.9.8"
		if err := k.serve(s, pod.Status, begin.Add(at)); err != nil {
			t.Fatal(err)
		}
	}
	visit(sighting{}, 0)
	if !listens() {
		t.Fatal("the server of a running container does not listen")
	}
	pod.DeletionTimestamp = new(metav1.NewTime(begin.Add(30 * time.Second)))
	visit(sighting{deleted: begin}, 4*time.Second)
	if !listens() {
		t.Error("the port is closed during the preStop hook")
	}
	b := resolve(pod, k.options)
	if wake := b.told(sighting{pod: pod, deleted: begin}, begin); !wake.Equal(begin.Add(5 * time.Second)) {
		t.Errorf("SIGTERM is due after %s, want 5s", wake.Sub(begin))
	}
	visit(sighting{deleted: begin}, 5*time.Second)
	for end := time.Now().Add(time.Minute); listens(); {
		if time.Now().After(end) {
			t.Fatal("the port is open a minute after SIGTERM")
		}
	}
	pod.DeletionTimestamp = nil
	pod.Status.ContainerStatuses[0].ContainerID = "second"
	visit(sighting{}, time.Minute)
	if !listens() {
		t.Error("a container that was started again does not listen")
	}
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	visit(sighting{}, time.Minute)
	if listens() {
		t.Error("a container that has ended listens")
	}
}

// Without a readiness probe a server counts as ready before it listens, as for any kubelet.
func TestReadinessOfServers(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: serve.Image + ":v1-start3s"}}}}
	if got := resolve(pod, Options{PodReadyAfter: time.Second}).mains[0].readyIn; got != 0 {
		t.Errorf("without a probe ready after %s", got)
	}
	pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
	if got := resolve(pod, Options{PodReadyAfter: time.Second}).mains[0].readyIn; got <= 3*time.Second {
		t.Errorf("with a probe ready after %s, before it listens", got)
	}
}
