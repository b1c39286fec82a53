package plan

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
	// Services of the namespace that the spec names or that are marked as this Rollout's.
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
	PodRefusals map[string]change.PodRefusal
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
	// CreateFailure is why the ReplicaSet that an earlier plan of this same pass wanted could not be created, if so.
	CreateFailure *change.CreateFailure
}

// Plan is what the world should look like next, grouped in the order in which it is safe to make it so. Stopping after any
// write and planning anew leads to the same end.
type Plan struct {
	// Grow creates ReplicaSets and scales them up. First: more pods never hurt.
	Grow []change.Change
	// Route points Services at versions, and then splits the traffic between the Services. After Grow, and only to pods that were
	// observed able to carry what comes.
	Route []change.Change
	// Judge ends AnalysisRuns and Experiments, and then begins others. After Route, so that what is measured is what serves.
	Judge []change.Change
	// Shrink scales ReplicaSets down and deletes them. Last of all writes to other objects, and only of what the routing that was
	// observed before this pass does not use.
	Shrink []change.Change
	// Record is what to write into the Rollout itself, after all the above succeeded. Nil when nothing is to be written.
	Record *Record
	// Events are published after the record. Each tells of a change, so a plan that changes nothing has none.
	Events []change.Event
	// Label changes labels and annotations of running pods. After the record, which does not depend on them: a pod that the API
	// server will not let be changed must not hold anything up. They may fail one by one; a later pass sees what is missing.
	Label []change.Change
	// Wake is when to look again if nothing happens first. Zero: there is nothing to wait for.
	Wake time.Time
	// Needs is what must be looked at before more can be decided. If there is any the plan is not to be carried out: the shell
	// looks, adds what it saw and asks again in the same pass.
	Needs []change.Need
	// Notes are the decisions with their reasons, in words for a user, in the order in which they were taken.
	Notes []change.Note
}

// Writes reports whether the plan asks for any write at all.
func (p Plan) Writes() bool {
	return len(p.Grow)+len(p.Route)+len(p.Judge)+len(p.Shrink)+len(p.Label) > 0 || p.Record != nil
}

// Record is what a plan writes into the Rollout: first, and seldom, Object's own fields; then the status.
type Record struct {
	// From is the Rollout as it was observed. Both writes require its resourceVersion (the second, that of the first's result).
	From *v1alpha1.Rollout
	// To is the Rollout as it should be. Only metadata.annotations, spec.replicas and status ever differ from From, with which it
	// shares the rest.
	To *v1alpha1.Rollout
	// CanWait: only counts of pods differ, and what follows from them. No decision depends on them being written, so the shell may
	// leave this record out and write what has gathered a moment later.
	CanWait bool
}
