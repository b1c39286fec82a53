package spec

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Rollout is a Rollout's spec, resolved.
type Rollout struct {
	// Replicas is the number of pods wanted, 1 where the spec does not say.
	Replicas int32
	// ReplicasUnset is true where the spec does not say: an autoscaler needs a number in the object.
	ReplicasUnset bool
	Selector      *metav1.LabelSelector
	Template      corev1.PodTemplateSpec
	// PodHash names the version that Template describes, StepHash the list of steps (empty for blue-green).
	PodHash, StepHash string

	MinReadySeconds      int32
	RevisionHistoryLimit int
	RunHistory           RunHistory
	ProgressDeadline     time.Duration
	// ProgressDeadlineAbort aborts the update instead of only reporting it when ProgressDeadline has passed.
	ProgressDeadlineAbort bool
	// RollbackWindow is how many revisions back a version may be for an update to it to skip all steps; 0 for none.
	RollbackWindow int
	// Paused is the user's own pause: nothing scales and no step ends.
	Paused   bool
	Strategy Strategy
}

// Strategy is how a new version replaces the old one: [Canary] or [BlueGreen].
//
//sumtype:decl
type Strategy interface{ isStrategy() }

// Canary moves to the new version in steps.
type Canary struct {
	// CanaryService and StableService are pointed at one version each; their names are empty where there are none. With PingPong
	// they take turns: as they stand here, ping is the stable one.
	CanaryService, StableService Reference
	PingPong                     bool
	// Traffic is how traffic is split, nil where the share of the pods is the share of the traffic.
	Traffic *Traffic
	Steps   []Step
	// Background is the analysis beside the steps, from BackgroundStep on; nil for none.
	Background     *Analysis
	BackgroundStep int32
	// MaxSurge and MaxUnavailable are numbers of pods, never both zero.
	MaxSurge, MaxUnavailable int32
	// MaxWeight is the weight that means all traffic.
	MaxWeight int32
	Threshold Threshold
	// NewMetadata is for the pods of the new version during an update, StableMetadata for those of the stable one.
	NewMetadata, StableMetadata Metadata
	AntiAffinity                AntiAffinity
}

func (Canary) isStrategy() {}

// Step is one step of a canary: [SetWeight], [SetCanaryScale], [SetHeaderRoute], [SetMirrorRoute], [Pause], [RunAnalysis],
// [RunExperiment] or [RunPlugin].
//
//sumtype:decl
type Step interface {
	isStep()
	// String is the step as events describe it; the texts are API.
	String() string
}

// SetWeight moves the canary to a share of the traffic.
type SetWeight struct{ Weight int32 }

// Pause holds the canary where it is: for Duration, or until a person resumes it.
type Pause struct {
	Indefinite bool
	Duration   time.Duration
	// Written is the duration as the spec has it.
	Written string
}

// SetCanaryScale sizes the canary apart from its traffic, until another one: to Replicas, or to Percent of the Rollout's replicas.
// Neither lets it follow the traffic again.
type SetCanaryScale struct{ Replicas, Percent *int32 }

// SetHeaderRoute sends requests with certain headers to the canary. Without a match it ends that.
type SetHeaderRoute struct {
	Name  string
	Match []v1alpha1.HeaderRoutingMatch
}

// SetMirrorRoute sends a copy of certain requests to the canary. Without a match it ends that.
type SetMirrorRoute struct {
	Name    string
	Match   []v1alpha1.RouteMatch
	Percent int32
}

// RunPlugin holds the canary where it is until a plugin says that the step is done. Config is in the plugin's own form.
type RunPlugin struct {
	Name   string
	Config json.RawMessage
}

func (SetWeight) isStep()      {}
func (SetCanaryScale) isStep() {}
func (SetHeaderRoute) isStep() {}
func (SetMirrorRoute) isStep() {}
func (Pause) isStep()          {}
func (RunAnalysis) isStep()    {}
func (RunPlugin) isStep()      {}

func (s SetWeight) String() string      { return fmt.Sprintf("setWeight: %d", s.Weight) }
func (s SetHeaderRoute) String() string { return "setHeaderRoute: " + s.Name }
func (s RunPlugin) String() string      { return "plugin: " + s.Name }
func (s SetMirrorRoute) String() string { return "setMirrorRoute: " + s.Name }

func (s SetCanaryScale) String() string {
	switch {
	case s.Replicas != nil:
		return fmt.Sprintf("setCanaryScale{replicas: %d}", *s.Replicas)
	case s.Percent != nil:
		return fmt.Sprintf("setCanaryScale{weight: %d}", *s.Percent)
	}
	return "setCanaryScale{matchTrafficWeight: true}"
}

func (s Pause) String() string {
	if s.Indefinite {
		return "pause"
	}
	return "pause: " + s.Written
}

// Threshold is how many of the canary's pods must be available before a step or the promotion goes on.
type Threshold struct {
	// Pods, if Percent is false, is a number of pods; otherwise a share of those wanted, in percent.
	Value   int32
	Percent bool
}

// AllPods is the threshold where the spec sets none.
var AllPods = Threshold{Value: 100, Percent: true}

// Met reports whether available pods are enough of desired ones. Nothing is enough of nothing.
func (t Threshold) Met(available, desired int32) bool {
	if t.Percent {
		return int64(available)*100 >= int64(desired)*int64(t.Value)
	}
	return available >= min(t.Value, desired)
}
