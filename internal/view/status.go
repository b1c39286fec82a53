package view

import (
	"strconv"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Icon is one character that shows how an object is doing.
type Icon string

// The icons of a status.
const (
	IconHealthy     Icon = "✔"
	IconDegraded    Icon = "✖"
	IconProgressing Icon = "◌"
	IconPaused      Icon = "॥"
	IconWarning     Icon = "⚠"
	IconUnknown     Icon = "?"
	IconIdle        Icon = "•"
	IconPending     Icon = "◷"
)

// Status is the state of an object.
type Status struct {
	Icon Icon
	// Text is one word: a phase, or the reason that Kubernetes gives.
	Text string
	// Message is a sentence about it, empty if there is none.
	Message string
}

// String is the status without its message, as in tables.
func (s Status) String() string { return string(s.Icon) + " " + s.Text }

// statusOf is status.phase and status.message, unless the client can tell that the controller has not yet seen a user's last
// change: a user who checks right after a change must not see the state before it.
func statusOf(ro *v1alpha1.Rollout) Status {
	if broken := ro.Unreadable.Of("spec"); len(broken) > 0 && !strings.HasPrefix(ro.Status.Message, v1alpha1.ReasonInvalidSpec) {
		return unreadable(broken)
	}
	switch {
	case !specObserved(ro):
		return progressing("waiting for rollout spec update to be observed")
	case ro.Status.ControllerPause && len(ro.Status.PauseConditions) == 0 && !ro.Status.Abort:
		return progressing("waiting for rollout to unpause")
	case !workloadObserved(ro):
		return progressing("waiting for rollout spec update to be observed for the reference workload")
	}
	return Status{Icon: phaseIcon(ro.Status.Phase), Text: string(ro.Status.Phase), Message: ro.Status.Message}
}

// specObserved reports whether the controller has reconciled the current spec.
func specObserved(ro *v1alpha1.Rollout) bool {
	return observed(ro.Status.ObservedGeneration, ro.Generation) && ro.Status.Phase != ""
}

// unreadable is the status of an object whose spec does not parse, whether or not a controller has said so.
func unreadable(fields v1alpha1.Unreadable) Status {
	return Status{
		Icon: IconDegraded, Text: string(v1alpha1.RolloutPhaseDegraded),
		Message: v1alpha1.ReasonInvalidSpec + ": " + fields.String(),
	}
}

func progressing(message string) Status {
	return Status{Icon: IconProgressing, Text: string(v1alpha1.RolloutPhaseProgressing), Message: message}
}

// observed reports whether a status that was written for one generation is about this one. Very old objects have a hash
// instead of the generation: anything that is not a number, or too high a number, counts as observed.
func observed(written string, generation int64) bool {
	n, err := strconv.ParseInt(written, 10, 64)
	return err != nil || n >= generation
}

func workloadObserved(ro *v1alpha1.Rollout) bool {
	if ro.Spec.WorkloadRef == nil {
		return true
	}
	generation, err := strconv.ParseInt(ro.Annotations[v1alpha1.WorkloadGenerationAnnotation], 10, 64)
	return err != nil || observed(ro.Status.WorkloadObservedGeneration, generation)
}

func phaseIcon(p v1alpha1.RolloutPhase) Icon {
	switch p {
	case v1alpha1.RolloutPhaseHealthy:
		return IconHealthy
	case v1alpha1.RolloutPhaseDegraded:
		return IconDegraded
	case v1alpha1.RolloutPhaseProgressing:
		return IconProgressing
	case v1alpha1.RolloutPhasePaused:
		return IconPaused
	}
	return IconUnknown
}
