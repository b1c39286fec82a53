package plan

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
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
	PodRefusals map[string]PodRefusal
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
	ExperimentFailures []CreateFailure
	// RunFailures are why AnalysisRuns that earlier plans of this same pass wanted could not be created.
	RunFailures []CreateFailure
	// CreateFailure is why the ReplicaSet that an earlier plan of this same pass wanted could not be created, if so.
	CreateFailure *CreateFailure
}

// PodRefusal is the API server's refusal to change a pod.
type PodRefusal struct {
	Message string
	At      time.Time
}

// CreateFailure is the API server's refusal to create a ReplicaSet, in a way that trying again does not mend.
type CreateFailure struct {
	Name string
	// Taken: an object that is not this Rollout's, or not of this template, has the name already.
	Taken bool
	// Leaving: that object is on its way out, or of an Experiment that ends. The name will be free.
	Leaving bool
	// Message is what the API server said.
	Message string
}

// Plan is what the world should look like next, grouped in the order in which it is safe to make it so. Stopping after any
// write and planning anew leads to the same end.
type Plan struct {
	// Grow creates ReplicaSets and scales them up. First: more pods never hurt.
	Grow []Change
	// Route points Services at versions, and then splits the traffic between the Services. After Grow, and only to pods that were
	// observed able to carry what comes.
	Route []Change
	// Judge ends AnalysisRuns and Experiments, and then begins others. After Route, so that what is measured is what serves.
	Judge []Change
	// Shrink scales ReplicaSets down and deletes them. Last of all writes to other objects, and only of what the routing that was
	// observed before this pass does not use.
	Shrink []Change
	// Record is what to write into the Rollout itself, after all the above succeeded. Nil when nothing is to be written.
	Record *Record
	// Events are published after the record. Each tells of a change, so a plan that changes nothing has none.
	Events []Event
	// Label changes labels and annotations of running pods. After the record, which does not depend on them: a pod that the API
	// server will not let be changed must not hold anything up. They may fail one by one; a later pass sees what is missing.
	Label []Change
	// Wake is when to look again if nothing happens first. Zero: there is nothing to wait for.
	Wake time.Time
	// Needs is what must be looked at before more can be decided. If there is any the plan is not to be carried out: the shell
	// looks, adds what it saw and asks again in the same pass.
	Needs []Need
	// Notes are the decisions with their reasons, in words for a user, in the order in which they were taken.
	Notes []Note
}

// Writes reports whether the plan asks for any write at all.
func (p Plan) Writes() bool {
	return len(p.Grow)+len(p.Route)+len(p.Judge)+len(p.Shrink)+len(p.Label) > 0 || p.Record != nil
}

// Change is one write to one object other than the Rollout: [CreateReplicaSet], [UpdateReplicaSet], [DeleteReplicaSet],
// [CreateService], [UpdateService], [DeleteService], [WriteRoute], [UpdatePod], [EvictPod], [ScaleWorkload], [CreateAnalysisRun],
// [TerminateAnalysisRun], [DeleteAnalysisRun], [CreateExperiment], [TerminateExperiment] or [DeleteExperiment].
// The Reason of each says in a few words what it follows from.
//
//sumtype:decl
type Change interface {
	isChange()
}

// CreateReplicaSet creates a ReplicaSet under a name that follows from the template. If the name is taken or the object is
// refused, the shell asks again with [Observed.CreateFailure].
type CreateReplicaSet struct {
	ReplicaSet *appsv1.ReplicaSet
	Reason     string
}

// UpdateReplicaSet changes a ReplicaSet that exists. Only what differs between From and To is written, and only if the object
// still has From's resourceVersion.
type UpdateReplicaSet struct {
	From, To *appsv1.ReplicaSet
	Reason   string
}

// DeleteReplicaSet deletes a ReplicaSet without pods, if it still has the resourceVersion given here.
type DeleteReplicaSet struct {
	ReplicaSet *appsv1.ReplicaSet
	Reason     string
}

// UpdateService changes what a Service selects, and whose it is. Only what differs between From and To is written, and only if
// the object still has From's resourceVersion.
type UpdateService struct {
	From, To *corev1.Service
	Reason   string
}

// UpdatePod changes the labels and annotations of a pod, if it still has From's resourceVersion.
type UpdatePod struct {
	From, To *corev1.Pod
	Reason   string
}

// EvictPod asks the API server to evict a pod, which it refuses as long as a PodDisruptionBudget forbids it. The refusal is no
// failure: a later pass asks again.
type EvictPod struct {
	Pod    *corev1.Pod
	Reason string
}

func (CreateReplicaSet) isChange() {}
func (UpdatePod) isChange()        {}
func (EvictPod) isChange()         {}
func (UpdateService) isChange()    {}
func (UpdateReplicaSet) isChange() {}
func (DeleteReplicaSet) isChange() {}

// Need is something that must be looked at: [NeedLiveServices], [NeedLiveRouting], [NeedLiveRollout], [NeedLiveExperiment] or [NeedPods].
//
//sumtype:decl
type Need interface{ isNeed() }

// NeedLiveServices asks for Observed.Services as the API server has them now: a version that has served is about to lose all its pods, which
// requests reach by Services alone, or one is about to be promoted that an earlier pass, or a person, has switched to.
type NeedLiveServices struct{}

// NeedLiveRouting asks for Observed.Routes as well: a version is about to lose pods, and by the weight of a Service that selects it others
// carry what they carried.
type NeedLiveRouting struct{}

// NeedLiveRollout asks whether the Rollout is there and stays, by what the API server says now: it is about to own what would go with it.
// If not, the pass is to end here.
type NeedLiveRollout struct{}

// NeedLiveExperiment asks for one of Observed.Experiments as the API server has it now: its pods are about to get traffic, and may be on
// their way out.
type NeedLiveExperiment struct{ Name string }

// NeedPods asks for the pods of one version. They are not cached: few passes need them, and there are many.
type NeedPods struct{ Hash string }

func (NeedLiveServices) isNeed()   {}
func (NeedLiveRouting) isNeed()    {}
func (NeedLiveRollout) isNeed()    {}
func (NeedLiveExperiment) isNeed() {}
func (NeedPods) isNeed()           {}

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

// Event is one Kubernetes event on the Rollout. The reasons are API: notification triggers and people's scripts name them.
type Event struct {
	Warning bool
	Reason  string
	Message string
}

// Topic is what a note is about.
type Topic string

// The topics of notes.
const (
	TopicGrow   Topic = "grow"   // pods are added
	TopicRoute  Topic = "route"  // traffic is sent elsewhere
	TopicShrink Topic = "shrink" // pods or old ReplicaSets are taken away
	TopicLabel  Topic = "label"  // pods get the labels and annotations of their version's part
	TopicWait   Topic = "wait"   // something must come first
	TopicJudge  Topic = "judge"  // analyses begin and end
	TopicStep   Topic = "step"   // a step of the canary ended or began
	TopicUpdate Topic = "update" // an update begins, ends, is aborted or tried again
	TopicRefuse Topic = "refuse" // the spec asks for what cannot be done
)

// Note is one decision and its reason.
type Note struct {
	Topic  Topic
	Text   string
	Reason string
}
