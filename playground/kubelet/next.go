package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// createsIn is how long a pod is in ContainerCreating.
	createsIn = 100 * time.Millisecond
	// stopsIn is how long a process takes to end once it is told to.
	stopsIn = 200 * time.Millisecond
)

// sighting is a pod as the kubelet sees it.
type sighting struct {
	pod           *corev1.Pod // its status with exact times, where they are known
	hostIP, podIP string      // the addresses it has or is going to have
	deleted       time.Time   // when its deletion was requested
}

// decision is what to do about a pod.
type decision struct {
	status corev1.PodStatus // what its status should be
	remove bool             // after that, the object goes
	wake   time.Time        // when to decide again, if nothing happens first; zero: no need
}

// next is the life of a pod.
func next(s sighting, now time.Time, o Options) decision {
	switch {
	case s.pod.DeletionTimestamp != nil:
		return stopping(s, now, o)
	case finished(s.pod):
		return decision{status: s.pod.Status}
	case s.pod.Status.StartTime == nil:
		return admitted(s, now, o)
	case reached(deadline(s.pod), now):
		return overdue(s, now, o)
	default:
		return living(s, now, o)
	}
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// admitted takes on a pod that was bound to the node: its containers are being created.
func admitted(s sighting, now time.Time, o Options) decision {
	status := *s.pod.Status.DeepCopy()
	status.StartTime = new(metav1.NewTime(now))
	status.Phase = corev1.PodPending
	status.HostIP, status.HostIPs = s.hostIP, []corev1.HostIP{{IP: s.hostIP}}
	b := resolve(s.pod, o)
	for _, c := range b.inits {
		status.InitContainerStatuses = append(status.InitContainerStatuses, c.find(nil))
	}
	for _, c := range b.mains {
		status.ContainerStatuses = append(status.ContainerStatuses, c.find(nil))
	}
	return decision{status: withConditions(s.pod, status, b, now), wake: now.Add(createsIn)}
}

// living moves every container on, and the pod with them.
func living(s sighting, now time.Time, o Options) decision {
	status := *s.pod.Status.DeepCopy()
	b := resolve(s.pod, o)
	begin := status.StartTime.Add(createsIn)
	if !now.Before(begin) {
		status.PodIP, status.PodIPs = s.podIP, []corev1.PodIP{{IP: s.podIP}}
	}
	inits, initialized, wakeInits := b.nextInits(status.InitContainerStatuses, begin, now)
	mains, wakeMains := b.nextMains(status.ContainerStatuses, initialized, begin, now)
	if b.allOver(mains) {
		inits = b.stopSidecars(inits, now)
	}
	status.InitContainerStatuses, status.ContainerStatuses = inits, mains
	status.Phase = b.phase(inits, initialized, mains)
	return decision{status: withConditions(s.pod, status, b, now), wake: earliest(wakeInits, wakeMains, deadline(s.pod))}
}

// nextInits moves the init containers on, one after the other: each waits until the one before it has done its work, or, being
// a sidecar, has started.
func (b behavior) nextInits(before []corev1.ContainerStatus, begin, now time.Time) (list []corev1.ContainerStatus, done bool, wake time.Time) {
	done = true
	for _, c := range b.inits {
		s := c.find(before)
		if done || c.isSidecar && s.State.Running != nil {
			var at time.Time
			s, at = c.next(s, begin, now)
			wake = earliest(wake, at)
		}
		done = done && c.letsPass(s)
		list = append(list, s)
	}
	return list, done, wake
}

func (b behavior) nextMains(before []corev1.ContainerStatus, initialized bool, begin, now time.Time) (list []corev1.ContainerStatus, wake time.Time) {
	for _, c := range b.mains {
		s := c.find(before)
		if initialized || s.ContainerID != "" {
			var at time.Time
			s, at = c.next(s, begin, now)
			wake = earliest(wake, at)
		}
		list = append(list, s)
	}
	return list, wake
}

// letsPass tells whether the init container after this one may start. A sidecar that restarts still lets pass: it had started.
func (c container) letsPass(s corev1.ContainerStatus) bool {
	if c.isSidecar {
		return s.Started != nil && *s.Started || s.RestartCount > 0 || s.State.Terminated != nil
	}
	return s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
}

func (b behavior) allOver(mains []corev1.ContainerStatus) bool {
	for i, c := range b.mains {
		if !c.over(mains[i]) {
			return false
		}
	}
	return true
}

func (b behavior) stopSidecars(inits []corev1.ContainerStatus, now time.Time) []corev1.ContainerStatus {
	for i, c := range b.inits {
		if c.isSidecar {
			inits[i] = c.terminate(inits[i], 0, endReason(0), "", now)
		}
	}
	return inits
}

// phase sums the containers up.
func (b behavior) phase(inits []corev1.ContainerStatus, initialized bool, mains []corev1.ContainerStatus) corev1.PodPhase {
	for i, c := range b.inits {
		if c.isInit && c.over(inits[i]) && inits[i].State.Terminated.ExitCode != 0 {
			return corev1.PodFailed
		}
	}
	if b.allOver(mains) {
		return phaseAtEnd(mains)
	}
	if !initialized {
		return corev1.PodPending
	}
	for _, s := range mains {
		if s.State.Waiting != nil && s.LastTerminationState.Terminated == nil {
			return corev1.PodPending
		}
	}
	return corev1.PodRunning
}

func phaseAtEnd(mains []corev1.ContainerStatus) corev1.PodPhase {
	for _, s := range mains {
		if s.State.Terminated.ExitCode != 0 {
			return corev1.PodFailed
		}
	}
	return corev1.PodSucceeded
}

// deadline is when a pod has been active for as long as it may.
func deadline(pod *corev1.Pod) time.Time {
	if pod.Spec.ActiveDeadlineSeconds == nil || pod.Status.StartTime == nil {
		return time.Time{}
	}
	return pod.Status.StartTime.Add(time.Duration(*pod.Spec.ActiveDeadlineSeconds) * time.Second)
}
