package view

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Objects are all the objects of a picture: of a Rollout or, if that is nil, of an Experiment. Objects that do not belong to
// it are ignored.
type Objects struct {
	Rollout    *v1alpha1.Rollout
	Experiment *v1alpha1.Experiment

	ReplicaSets []*appsv1.ReplicaSet
	Pods        []*corev1.Pod
	// Experiments and their AnalysisRuns belong to the Rollout.
	Experiments  []*v1alpha1.Experiment
	AnalysisRuns []*v1alpha1.AnalysisRun
}

// Picture is a [Rollout] or an [Experiment] as users see it.
type Picture interface {
	// Text is the whole picture.
	Text(TextOptions) string
	// Summary is one line that stays the same as long as nothing changes.
	Summary() string
}

// Look is what users see of the objects now. Either Rollout or Experiment must be set.
func Look(o Objects, now time.Time) Picture {
	if o.Rollout == nil {
		return ExperimentOf(o, now)
	}
	return Of(o, now)
}

// Rollout is what users see of a Rollout.
type Rollout struct {
	Name      string
	Namespace string
	Age       time.Duration
	// Status is the phase and, in Message, what it waits for or what caused it.
	Status Status
	// Unobserved: the controller has not reconciled the current spec; the rest of this is about an earlier one.
	Unobserved bool
	// Warnings are problems that users should know about although they block nothing.
	Warnings []string

	Strategy Strategy
	// Steps of a canary, and how many of them are done.
	Steps     []Step
	StepsDone int
	// SetWeight and ActualWeight are a canary's share of the traffic, as desired and as it is.
	SetWeight    int32
	ActualWeight int32
	// Pause is the timed pause in effect, nil if there is none.
	Pause  *Pause
	Images []Image
	// Replicas are the numbers of pods.
	Replicas Replicas
	// Revisions are newest first.
	Revisions []Revision
}

// Strategy is how a new version replaces the old one.
type Strategy string

// The strategies.
const (
	Canary    Strategy = "Canary"
	BlueGreen Strategy = "BlueGreen"
)

// Replicas are numbers of pods.
type Replicas struct {
	Desired, Current, Updated, Ready, Available int32
}

// Image is a container image that runs, and the roles of its versions.
type Image struct {
	Name string
	Tags []Tag
}

// Tag is the role of a version.
type Tag string

// The roles.
const (
	TagStable  Tag = "stable"
	TagCanary  Tag = "canary"
	TagActive  Tag = "active"
	TagPreview Tag = "preview"
	TagPing    Tag = "ping"
	TagPong    Tag = "pong"
)

// Of is what users see now.
func Of(o Objects, now time.Time) Rollout {
	ro := o.Rollout
	r := Rollout{
		Name:      ro.Name,
		Namespace: ro.Namespace,
		Age:       age(ro.CreationTimestamp.Time, now),
		Status:    statusOf(ro),

		Unobserved: !specObserved(ro) || !workloadObserved(ro),
		Warnings:   warningsOf(o),

		Replicas: Replicas{
			Desired:   desired(ro.Spec.Replicas),
			Current:   ro.Status.Replicas,
			Updated:   ro.Status.UpdatedReplicas,
			Ready:     ro.Status.ReadyReplicas,
			Available: ro.Status.AvailableReplicas,
		},
		Pause:     pauseOf(ro, now),
		Revisions: revisionsOf(o, now),
	}
	r.Images = imagesOf(r.everyReplicaSet())
	switch {
	case ro.Spec.Strategy.Canary != nil:
		r.Strategy = Canary
		r.Steps, r.StepsDone = stepsOf(ro)
		r.SetWeight = setWeight(ro)
		r.ActualWeight = actualWeight(ro, r.Revisions)
	case ro.Spec.Strategy.BlueGreen != nil:
		r.Strategy = BlueGreen
	}
	return r
}

// CurrentStep is the current step, nil if there are none or all are complete.
func (r Rollout) CurrentStep() *Step {
	if r.StepsDone >= len(r.Steps) {
		return nil
	}
	return &r.Steps[r.StepsDone]
}

// ReplicaSets are all versions, newest revision first.
func (r Rollout) ReplicaSets() []ReplicaSet {
	var all []ReplicaSet
	for _, rev := range r.Revisions {
		all = append(all, rev.ReplicaSets...)
	}
	return all
}

// everyReplicaSet includes those of experiments.
func (r Rollout) everyReplicaSet() []ReplicaSet {
	all := r.ReplicaSets()
	for _, rev := range r.Revisions {
		for _, e := range rev.Experiments {
			all = append(all, e.ReplicaSets...)
		}
	}
	return all
}

func age(created, now time.Time) time.Duration {
	if created.IsZero() {
		return 0
	}
	return max(0, now.Sub(created)) // a clock that is behind the cluster's shows 0s, not a negative age
}

func desired(replicas *int32) int32 {
	if replicas == nil {
		return v1alpha1.DefaultReplicas
	}
	return *replicas
}
