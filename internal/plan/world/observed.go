package world

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Observed is all that a decision may depend on. The objects are read, never modified, and may be older than the world: every
// change of a plan carries the resourceVersion it was decided on.
type Observed struct {
	Now time.Time
	// Policy is what the operator allows; the zero value is the default.
	Policy spec.Policy
	// Rollout as read from the API server, defaults not filled in.
	Rollout *v1alpha1.Rollout
	// RolloutLive: the API server said in this very pass that the Rollout is there and stays.
	RolloutLive bool
	// ReplicaSets that the Rollout controls, in any order.
	ReplicaSets []*appsv1.ReplicaSet
	// Orphans are ReplicaSets of the namespace with a version's hash that nobody controls, in any order.
	Orphans []*appsv1.ReplicaSet
	// Services of the namespace that the spec names or that are marked as this Rollout's, in any order.
	Services []*corev1.Service
	// Routes are the objects that the spec's traffic routers read and write, as far as they exist, and those that still carry what a
	// router put there for this Rollout.
	Routes traffic.Objects
	// ServicesLive and RoutesLive: those were read from the API server in this very pass, not from a cache.
	ServicesLive, RoutesLive bool
	// Pods of versions, by the version's hash, read from the API server in this very pass. Only those that were asked for by
	// [NeedPods] are there.
	Pods map[string][]*corev1.Pod
	// PodRefusals are why the API server did not change pods that earlier plans wanted to label, by the pods' names, and when. What is
	// missing here is found out by trying again.
	PodRefusals map[string]change.Refusal
	// RouteRefusals are why the API server did not change objects of traffic routers that earlier plans wanted to release, by their
	// [routers.FormatKey], and when. What is missing here is found out by trying again.
	RouteRefusals map[string]change.Refusal
	// Workload is what spec.workloadRef refers to: an *appsv1.Deployment, *appsv1.ReplicaSet or *corev1.PodTemplate. Nil: there is
	// none of that name.
	Workload metav1.Object
	// AnalysisRuns that the Rollout controls, in any order.
	AnalysisRuns []*v1alpha1.AnalysisRun
	// Templates are the AnalysisTemplates and ClusterAnalysisTemplates that the spec refers to, and those that they refer to in
	// turn, as far as they exist.
	Templates analysis.Templates
	// Experiments that the Rollout controls, in any order.
	Experiments []*v1alpha1.Experiment
	// ExperimentSets and ExperimentServices are what the current one of those Experiments controls, in any order.
	ExperimentSets     []*appsv1.ReplicaSet
	ExperimentServices []*corev1.Service
	// LiveExperiment is the name of the one that was read from the API server in this very pass, as [NeedLiveExperiment] asks.
	LiveExperiment string
	// ExperimentFailures are why Experiments that earlier plans of this same pass wanted could not be created.
	ExperimentFailures []change.CreateFailure
	// RunFailures are why AnalysisRuns that earlier plans of this same pass wanted could not be created.
	RunFailures []change.CreateFailure
	// StepAnswers are what step plugins have answered to what earlier plans asked.
	StepAnswers []change.StepAnswer
	// CreateFailure is why the ReplicaSet that an earlier plan of this same pass wanted could not be created, if so.
	CreateFailure *change.CreateFailure
}
