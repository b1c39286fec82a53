package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// stopping handles a pod that was deleted: it stays as it is, ready if it was, while its preStop hooks run and its processes
// end, but no longer than its grace period. Then it is ended, and its object deleted.
func stopping(s sighting, now time.Time, o Options) decision {
	grace := gracePeriod(s.pod)
	// With no grace left the API server takes the object away as soon as no finalizer holds it.
	remove := grace > 0
	if finished(s.pod) {
		return decision{status: s.pod.Status, remove: remove}
	}
	b := resolve(s.pod, o)
	killed := s.deleted.Add(grace)
	stopped := b.stopped(s.pod, s.deleted)
	if end := earliest(stopped, killed); now.Before(end) {
		return decision{status: s.pod.Status, wake: earliest(b.told(s, now), end)}
	}
	status := b.ended(s.pod, now, func(c container) int32 {
		switch {
		case stopped.IsZero() || killed.Before(stopped):
			return exitKilled
		case c.does.runs == forever:
			return 0 // Servers end well when they are told to;
		default:
			return exitTerminated // sleep does not.
		}
	})
	status.Phase = phaseAtEnd(status.ContainerStatuses)
	return decision{status: withConditions(s.pod, status, b, now), remove: remove}
}

func gracePeriod(pod *corev1.Pod) time.Duration {
	if pod.DeletionGracePeriodSeconds == nil {
		return 0
	}
	return time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
}

// stopped is when all running containers of a pod deleted at the given time have stopped by themselves. Their hooks run side by
// side.
func (b behavior) stopped(pod *corev1.Pod, deleted time.Time) time.Time {
	took := time.Duration(0)
	for _, c := range b.mains {
		if c.find(pod.Status.ContainerStatuses).State.Running != nil {
			took = max(took, c.preStop, stopsIn)
			if c.serves != nil { // it answers what is under way
				took = max(took, c.preStop+c.stopsIn)
			}
		}
	}
	for _, c := range b.inits {
		if c.find(pod.Status.InitContainerStatuses).State.Running != nil {
			took = max(took, c.preStop, stopsIn)
		}
	}
	return later(deleted, took)
}

// told is when the next of the servers among the containers of a deleted pod gets SIGTERM, which is when its hook is over. The zero time: none does any more.
func (b behavior) told(s sighting, now time.Time) time.Time {
	var moments []time.Time
	for _, c := range b.mains {
		if c.serves != nil {
			moments = append(moments, s.deleted.Add(c.preStop))
		}
	}
	return after(now, moments...)
}

// overdue ends a pod that was active longer than it may.
func overdue(s sighting, now time.Time, o Options) decision {
	b := resolve(s.pod, o)
	status := b.ended(s.pod, now, func(container) int32 { return exitKilled })
	status.Phase = corev1.PodFailed
	status.Reason = "DeadlineExceeded"
	status.Message = "Pod was active on the node longer than the specified deadline"
	return decision{status: withConditions(s.pod, status, b, now)}
}

// ended is the status of a pod whose containers are all ended now, those that ran with the exit code given.
func (b behavior) ended(pod *corev1.Pod, now time.Time, exit func(container) int32) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	end := func(containers []container, before []corev1.ContainerStatus) []corev1.ContainerStatus {
		var list []corev1.ContainerStatus
		for _, c := range containers {
			code := exit(c)
			list = append(list, c.terminate(c.find(before), code, endReason(code), "", now))
		}
		return list
	}
	status.InitContainerStatuses = end(b.inits, pod.Status.InitContainerStatuses)
	status.ContainerStatuses = end(b.mains, pod.Status.ContainerStatuses)
	return status
}
