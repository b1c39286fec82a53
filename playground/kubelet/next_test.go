package kubelet

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestNext tells lives of pods: a line each time that something about a pod changes.
func TestNext(t *testing.T) {
	tests := map[string]struct {
		pod    *corev1.Pod
		events []event
		until  time.Duration
		want   string
	}{
		"a server becomes ready a second after it started": {
			pod: newPod(aServer),
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running
				1.1s   Running ready: web running`,
		},
		"the probe's initial delay comes on top of the annotation": {
			pod: newPod(aServer, annotated(ReadyAfterAnnotation, "500ms"), probed(2)),
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running
				2.6s   Running ready: web running`,
		},
		"never is never": {
			pod:   newPod(aServer, annotated(ReadyAfterAnnotation, "never")),
			until: 24 * time.Hour,
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running`,
		},
		"a pod turns unready and comes back": {
			pod: newPod(aServer, annotated(UnreadyAfterAnnotation, "30s"), annotated(ReadyAgainAfterAnnotation, "10")),
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running
				1.1s   Running ready: web running
				31.1s  Running: web running
				41.1s  Running ready: web running`,
		},
		"a running pod is told to turn unready": {
			pod:    newPod(aServer),
			events: []event{{20 * time.Second, annotated(UnreadyAfterAnnotation, "0")}, {25 * time.Second, withoutAnnotations}},
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running
				1.1s   Running ready: web running
				20s    Running: web running
				25s    Running ready: web running`,
		},
		"a readiness gate keeps a pod back until its condition is there": {
			pod: newPod(aServer, func(p *corev1.Pod) {
				p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/lb"}}
			}),
			events: []event{{5 * time.Second, func(p *corev1.Pod) {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "example.com/lb", Status: corev1.ConditionTrue})
			}}},
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running
				5s     Running ready: web running`,
		},
		"a bad image is never pulled, until it is fixed": {
			pod:    newPod(aServer, image("nginx:bad")),
			events: []event{{time.Minute, image("nginx:1.27")}},
			until:  2 * time.Minute,
			want: `
				0s     Pending: web ContainerCreating
				100ms  Pending: web ErrImagePull
				1.1s   Pending: web ImagePullBackOff
				1m0s   Running: web running
				1m1s   Running ready: web running`,
		},
		"an annotation that cannot be read holds the container back": {
			pod: newPod(aServer, annotated(ReadyAfterAnnotation, "soon")),
			want: `
				0s     Pending: web ContainerCreating
				100ms  Pending: web CreateContainerConfigError`,
		},
		"a container that crashes as it starts backs off ever longer, up to the limit": {
			pod:   newPod(aServer, annotated(CrashLoopAnnotation, "true")),
			until: 12 * time.Second,
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web exit 1 Error
				100ms  Running: web exit 1 Error (restart 1)
				100ms  Running: web CrashLoopBackOff (restart 1)
				1.1s   Running: web exit 1 Error (restart 2)
				1.1s   Running: web CrashLoopBackOff (restart 2)
				3.1s   Running: web exit 1 Error (restart 3)
				3.1s   Running: web CrashLoopBackOff (restart 3)
				7.1s   Running: web exit 1 Error (restart 4)
				7.1s   Running: web CrashLoopBackOff (restart 4)
				11.1s  Running: web exit 1 Error (restart 5)
				11.1s  Running: web CrashLoopBackOff (restart 5)`,
		},
		"a container that crashes after a while was ready before": {
			pod:   newPod(aServer, annotated(CrashLoopAnnotation, "5s")),
			until: 12 * time.Second,
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running
				1.1s   Running ready: web running
				5.1s   Running: web exit 1 Error
				5.1s   Running: web running (restart 1)
				6.1s   Running ready: web running (restart 1)
				10.1s  Running: web exit 1 Error (restart 1)
				10.1s  Running: web CrashLoopBackOff (restart 1)
				11.1s  Running: web running (restart 2)`,
		},
		"init containers run in order, and a sidecar stays": {
			pod: newPod(aServer, withInit("migrate", "sleep 2"), withSidecar("proxy"), withInit("warm", "whatever --it takes")),
			want: `
				0s     Pending: migrate PodInitializing, proxy PodInitializing, warm PodInitializing, web PodInitializing
				100ms  Pending: migrate running, proxy PodInitializing, warm PodInitializing, web PodInitializing
				2.1s   Running: migrate exit 0 Completed, proxy running, warm exit 0 Completed, web running
				3.1s   Running ready: migrate exit 0 Completed, proxy running, warm exit 0 Completed, web running`,
		},
		"an init container that fails is tried again": {
			pod:   newPod(aServer, withInit("migrate", "exit 3")),
			until: time.Second,
			want: `
				0s     Pending: migrate PodInitializing, web PodInitializing
				100ms  Pending: migrate exit 3 Error, web PodInitializing
				100ms  Pending: migrate exit 3 Error (restart 1), web PodInitializing
				100ms  Pending: migrate CrashLoopBackOff (restart 1), web PodInitializing`,
		},
		"a job's pod succeeds, and its sidecar goes with it": {
			pod: newPod(job(corev1.RestartPolicyNever, "sleep 3 && exit 0"), withSidecar("proxy")),
			want: `
				0s     Pending: proxy PodInitializing, web PodInitializing
				100ms  Running: proxy running, web running
				1.1s   Running ready: proxy running, web running
				3.1s   Succeeded: proxy exit 0 Completed, web exit 0 Completed`,
		},
		"a job's pod fails for good where nothing restarts it": {
			pod: newPod(job(corev1.RestartPolicyNever, "sleep 1; exit 4")),
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running
				1.1s   Failed: web exit 4 Error`,
		},
		"a job's container is restarted on failure": {
			pod:   newPod(job(corev1.RestartPolicyOnFailure, "false")),
			until: 2 * time.Second,
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web exit 1 Error
				100ms  Running: web exit 1 Error (restart 1)
				100ms  Running: web CrashLoopBackOff (restart 1)
				1.1s   Running: web exit 1 Error (restart 2)
				1.1s   Running: web CrashLoopBackOff (restart 2)`,
		},
		"a command that is not interpreted fails and says so": {
			pod: newPod(job(corev1.RestartPolicyNever, "curl example.com")),
			want: `
				0s     Pending: web ContainerCreating
				100ms  Failed: web exit 127 Error`,
		},
		"a pod's active deadline ends it": {
			pod: newPod(job(corev1.RestartPolicyNever, "sleep 60"), func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(5)) }),
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running
				1.1s   Running ready: web running
				5s     Failed DeadlineExceeded: web exit 137 Error`,
		},
		"a deleted server stops at once": {
			pod:    newPod(aServer),
			events: []event{{10 * time.Second, deleted(30)}},
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running
				1.1s   Running ready: web running
				10.2s  Succeeded: web exit 0 Completed
				10.2s  removed`,
		},
		"a preStop sleep is served, and the pod stays ready meanwhile": {
			pod:    newPod(aServer, preStopSleep(7)),
			events: []event{{10 * time.Second, deleted(30)}},
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running
				1.1s   Running ready: web running
				17s    Succeeded: web exit 0 Completed
				17s    removed`,
		},
		"a preStop command that sleeps longer than the grace period is cut short": {
			pod: newPod(aServer, func(p *corev1.Pod) {
				p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
					Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", "sleep 60"}},
				}}
			}),
			events: []event{{10 * time.Second, deleted(5)}},
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running
				1.1s   Running ready: web running
				15s    Failed: web exit 137 Error
				15s    removed`,
		},
		"a second deletion may shorten the grace period": {
			pod:    newPod(aServer, preStopSleep(60)),
			events: []event{{10 * time.Second, deleted(90)}, {20 * time.Second, deleted(12)}},
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running
				1.1s   Running ready: web running
				22s    Failed: web exit 137 Error
				22s    removed`,
		},
		"a forced deletion leaves the object to the API server": {
			pod:    newPod(aServer),
			events: []event{{10 * time.Second, deleted(0)}},
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running
				1.1s   Running ready: web running
				10s    Failed: web exit 137 Error`,
		},
		"a pod that never started has nothing to stop": {
			pod:    newPod(aServer, image("nginx:bad"), preStopSleep(10)),
			events: []event{{10 * time.Second, deleted(30)}},
			want: `
				0s     Pending: web ContainerCreating
				100ms  Pending: web ErrImagePull
				1.1s   Pending: web ImagePullBackOff
				10s    Failed: web exit 137 ContainerStatusUnknown
				10s    removed`,
		},
		"a job's pod that is deleted has failed": {
			pod:    newPod(job(corev1.RestartPolicyNever, "sleep 60")),
			events: []event{{10 * time.Second, deleted(30)}},
			want: `
				0s     Pending: web ContainerCreating
				100ms  Running: web running
				1.1s   Running ready: web running
				10.2s  Failed: web exit 143 Error
				10.2s  removed`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			until := orDefault(test.until, time.Minute)
			var want []string
			for line := range strings.SplitSeq(strings.TrimSpace(test.want), "\n") {
				want = append(want, strings.TrimSpace(line))
			}
			if diff := cmp.Diff(want, live(test.pod, until, test.events)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
