package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of all kinds in this package.
const Group = "argoproj.io"

// Version is the only version of the group that has ever existed.
const Version = "v1alpha1"

// The kinds of the group.
const (
	KindRollout                 = "Rollout"
	KindAnalysisTemplate        = "AnalysisTemplate"
	KindClusterAnalysisTemplate = "ClusterAnalysisTemplate"
	KindAnalysisRun             = "AnalysisRun"
	KindExperiment              = "Experiment"
)

var (
	// GroupVersion is argoproj.io/v1alpha1.
	GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

	// SchemeBuilder collects what AddToScheme registers.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme makes the kinds of this package known to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme

	// RolloutGVK is the full name of the Rollout kind, as owner references carry it.
	RolloutGVK = GroupVersion.WithKind(KindRollout)

	// AnalysisRunGVK is the full name of the AnalysisRun kind, as owner references carry it.
	AnalysisRunGVK = GroupVersion.WithKind(KindAnalysisRun)

	// ExperimentGVK is the full name of the Experiment kind, as owner references carry it.
	ExperimentGVK = GroupVersion.WithKind(KindExperiment)
)

// Resource qualifies a plural name such as "rollouts" with the group, for errors about missing objects.
func Resource(plural string) schema.GroupResource {
	return GroupVersion.WithResource(plural).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Rollout{}, &RolloutList{},
		&AnalysisTemplate{}, &AnalysisTemplateList{},
		&ClusterAnalysisTemplate{}, &ClusterAnalysisTemplateList{},
		&AnalysisRun{}, &AnalysisRunList{},
		&Experiment{}, &ExperimentList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
