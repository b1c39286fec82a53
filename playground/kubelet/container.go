package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// pullBackoffAfter is how long an image that is not there is shown as ErrImagePull before ImagePullBackOff.
	pullBackoffAfter = time.Second
	// crashesForgotten is how long a container must run for its restarts not to count in the back-off, as in real kubelets.
	crashesForgotten = 10 * time.Minute

	exitKilled     = 137
	exitTerminated = 143
)

// find is the container's status among those of its pod, or that of one not created yet.
func (c container) find(statuses []corev1.ContainerStatus) corev1.ContainerStatus {
	for _, s := range statuses {
		if s.Name == c.name {
			return s
		}
	}
	return corev1.ContainerStatus{Name: c.name, Image: c.image, Started: new(bool), State: waiting(c.first, "")}
}

// next moves a container on by at most one state and returns when to check it again. begin is when containers of the pod may
// start.
func (c container) next(s corev1.ContainerStatus, begin, now time.Time) (corev1.ContainerStatus, time.Time) {
	switch {
	case s.State.Running != nil:
		return c.keepRunning(s, now)
	case s.State.Terminated != nil:
		return c.restart(s, now)
	case s.LastTerminationState.Terminated != nil:
		return c.restartAfterBackoff(s, now)
	default:
		return c.start(s, begin, now)
	}
}

func (c container) start(s corev1.ContainerStatus, begin, now time.Time) (corev1.ContainerStatus, time.Time) {
	s.Image = c.image
	switch {
	case now.Before(begin):
		return s, begin
	case c.held.reason != "" && now.Before(begin.Add(pullBackoffAfter)):
		s.State = waiting(c.held.reason, c.held.message)
		return s, begin.Add(pullBackoffAfter)
	case c.held.reason != "":
		s.State = waiting(c.held.later, c.held.laterMessage)
		return s, time.Time{}
	}
	s.ImageID = imageID(c.image)
	s.ContainerID = containerID(c.uid, c.name, fmt.Sprint(s.RestartCount))
	s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}
	return c.keepRunning(s, now)
}

func (c container) keepRunning(s corev1.ContainerStatus, now time.Time) (corev1.ContainerStatus, time.Time) {
	started := s.State.Running.StartedAt.Time
	ends := later(started, c.does.runs)
	if reached(ends, now) {
		return c.terminate(s, c.does.exit, endReason(c.does.exit), c.does.message, now), now
	}
	up, ready := later(started, c.startedIn), later(started, c.readyIn)
	unready := later(ready, c.unreadyIn)
	again := later(unready, c.againIn)
	s.Started = new(reached(up, now))
	s.Ready = !c.isInit && reached(ready, now) && (!reached(unready, now) || reached(again, now)) && !dies(ends, ready)
	return s, after(now, up, ends, ready, unready, again)
}

// dies tells whether a container ends before it could be seen ready.
func dies(ends, ready time.Time) bool { return !ends.IsZero() && !ready.Before(ends) }

// restart decides what follows a container's end: nothing, a restart at once, or a wait.
func (c container) restart(s corev1.ContainerStatus, now time.Time) (corev1.ContainerStatus, time.Time) {
	if c.over(s) {
		return s, time.Time{}
	}
	last := s.State.Terminated
	s.LastTerminationState = s.State
	wait := c.wait(s)
	if wait == 0 {
		return c.startAgain(s, now)
	}
	s.State = waiting("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", wait, c.name, c.pod))
	return s, last.FinishedAt.Add(wait)
}

func (c container) restartAfterBackoff(s corev1.ContainerStatus, now time.Time) (corev1.ContainerStatus, time.Time) {
	due := s.LastTerminationState.Terminated.FinishedAt.Add(c.wait(s))
	if now.Before(due) {
		return s, due
	}
	return c.startAgain(s, now)
}

func (c container) startAgain(s corev1.ContainerStatus, now time.Time) (corev1.ContainerStatus, time.Time) {
	s.RestartCount++
	return c.start(s, now, now)
}

func (c container) wait(s corev1.ContainerStatus) time.Duration {
	last := s.LastTerminationState.Terminated
	if last.FinishedAt.Sub(last.StartedAt.Time) >= crashesForgotten {
		return 0
	}
	return c.backoff(s.RestartCount)
}

// over tells whether a container has ended and will not be started again.
func (c container) over(s corev1.ContainerStatus) bool {
	if s.State.Terminated == nil {
		return false
	}
	switch c.restarts {
	case corev1.RestartPolicyAlways:
		return false
	case corev1.RestartPolicyOnFailure:
		return s.State.Terminated.ExitCode == 0
	default:
		return true
	}
}

// terminate ends a container, whatever it was doing.
func (c container) terminate(s corev1.ContainerStatus, exit int32, reason, message string, now time.Time) corev1.ContainerStatus {
	if s.State.Terminated != nil {
		return s
	}
	s.Ready, s.Started = c.isInit && exit == 0, new(bool)
	switch {
	case s.State.Running != nil:
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: exit, Reason: reason, Message: message, ContainerID: s.ContainerID,
			StartedAt: s.State.Running.StartedAt, FinishedAt: metav1.NewTime(now),
		}}
	case s.LastTerminationState.Terminated != nil:
		s.State = s.LastTerminationState
	default:
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: exitKilled, Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was terminated",
		}}
	}
	return s
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func endReason(exit int32) string {
	if exit == 0 {
		return "Completed"
	}
	return "Error"
}

// after is the earliest of the moments that are still to come.
func after(now time.Time, moments ...time.Time) time.Time {
	var first time.Time
	for _, t := range moments {
		if t.After(now) {
			first = earliest(first, t)
		}
	}
	return first
}
