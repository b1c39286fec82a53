package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// What keeps a pod from being ready is said in Kubernetes' own word.
func TestPodTrouble(t *testing.T) {
	container := func(state corev1.ContainerState) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: state}}}
	}
	scheduled := func(status corev1.ConditionStatus, reason string) corev1.PodStatus {
		return corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}, {Type: corev1.PodScheduled, Status: status, Reason: reason}}}
	}
	for name, row := range map[string]struct {
		pod  corev1.PodStatus
		want string
	}{
		"on its way":                  {container(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}), ""},
		"no image":                    {container(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}), "ImagePullBackOff"},
		"an init container":           {corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}}, "CrashLoopBackOff"},
		"ended":                       {container(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}), "exit code 3"},
		"killed":                      {container(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}), "OOMKilled"},
		"done":                        {container(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}), ""},
		"no node":                     {scheduled(corev1.ConditionFalse, "Unschedulable"), "Unschedulable"},
		"no node, and nobody says so": {scheduled(corev1.ConditionFalse, ""), "Unschedulable"},
		"a gate":                      {scheduled(corev1.ConditionFalse, "SchedulingGated"), "SchedulingGated"},
		"a node":                      {scheduled(corev1.ConditionTrue, ""), ""},
	} {
		if got := podTrouble(&corev1.Pod{Status: row.pod}); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// A pod that had time enough says what keeps it in the word of the container that waits, or of its condition, or at least its phase.
func TestUnready(t *testing.T) {
	running := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	waiting := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}
	notReady := []corev1.PodCondition{{Type: corev1.PodScheduled, Reason: "Other"}, {Type: corev1.PodReady, Reason: "ContainersNotReady"}}
	for name, row := range map[string]struct {
		pod  corev1.PodStatus
		want string
	}{
		"a container that waits beside one that runs": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{running, waiting}, Conditions: notReady}, "ContainerCreating"},
		"an init container that waits":                {corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{waiting}, ContainerStatuses: []corev1.ContainerStatus{{}}}, "ContainerCreating"},
		"one that waits and says nothing":             {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}, Conditions: notReady}, "ContainersNotReady"},
		"all run":                                     {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{running}, Conditions: notReady}, "ContainersNotReady"},
		"no reason":                                   {corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodReady}}}, "Pending"},
	} {
		if got := unready(&corev1.Pod{Status: row.pod}); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}
