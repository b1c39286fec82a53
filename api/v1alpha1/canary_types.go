package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// CanaryStrategy moves traffic to the new version a part at a time. Without trafficRouting, the share of the traffic is the
// share of the pods.
type CanaryStrategy struct {
	// Name of a Service that the controller points at the pods of the new version only. Required by most traffic routers,
	// and useful without one to reach the new version on its own. Must not be stableService.
	// +optional
	CanaryService string `json:"canaryService,omitempty"`

	// Name of a Service that the controller points at the pods of the stable version only. Required by most traffic routers.
	// +optional
	StableService string `json:"stableService,omitempty"`

	// What to do in turn during an update; after the last step the new version is promoted. Without steps an update is a
	// rolling update within maxSurge and maxUnavailable. Changing the steps during an update starts again at the first.
	// +optional
	Steps []CanaryStep `json:"steps,omitempty"`

	// The traffic routers that split traffic by weight. Without any, the share of the pods is the share of the traffic.
	// +optional
	TrafficRouting *RolloutTrafficRouting `json:"trafficRouting,omitempty"`

	// How many pods may run above spec.replicas during an update: a number, or a share of spec.replicas such as "25%",
	// rounded up. Must not be 0 when maxUnavailable is 0. Defaults to 25%. Has no effect with trafficRouting, where
	// the new version's pods come on top of the stable ones.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// How many of spec.replicas may be unavailable during an update or restart: a number, or a share of spec.replicas such
	// as "25%", rounded down. Must not be 0 when maxSurge is 0. Defaults to 25%.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// Analysis that runs in the background during the update, from startingStep to its end. A failure aborts the update.
	// +optional
	Analysis *RolloutAnalysisBackground `json:"analysis,omitempty"`

	// Keeps pods of the new version off the nodes of the stable one.
	// +optional
	AntiAffinity *AntiAffinity `json:"antiAffinity,omitempty"`

	// Labels and annotations that pods of the new version carry until it is promoted. Put on running pods and taken away
	// without a restart; they do not make a new version.
	// +optional
	CanaryMetadata *PodTemplateMetadata `json:"canaryMetadata,omitempty"`

	// Labels and annotations that pods of the stable version carry. Put on running pods and taken away without a restart;
	// they do not make a new version.
	// +optional
	StableMetadata *PodTemplateMetadata `json:"stableMetadata,omitempty"`

	// Seconds that a version keeps its pods after its traffic has moved away. Needs trafficRouting, and cannot be combined
	// with dynamicStableScale. Defaults to 30.
	// +optional
	ScaleDownDelaySeconds *int32 `json:"scaleDownDelaySeconds,omitempty"`

	// Number of old versions that may keep their pods for scaleDownDelaySeconds at the same time; the oldest beyond it are
	// scaled down at once. Must not exceed revisionHistoryLimit. Defaults to no limit.
	// +optional
	ScaleDownDelayRevisionLimit *int32 `json:"scaleDownDelayRevisionLimit,omitempty"`

	// Seconds that the new version keeps its pods after an update was aborted, with trafficRouting. 0 keeps them until the
	// next update. Defaults to 30; with dynamicStableScale and no value given, the new version shrinks as traffic returns to
	// the stable one.
	// +optional
	AbortScaleDownDelaySeconds *int32 `json:"abortScaleDownDelaySeconds,omitempty"`

	// Whether the stable version shrinks as traffic moves to the new one, so that an update needs no more pods than
	// spec.replicas for long. Returning to the stable version then takes as long as its pods take to start. Needs
	// trafficRouting. Defaults to false: the stable version keeps its full size until the end.
	// +optional
	DynamicStableScale bool `json:"dynamicStableScale,omitempty"`

	// Two Services that take turns at being the stable and the canary Service, so that a Service which carries traffic is
	// never pointed elsewhere. Takes the place of canaryService and stableService, with routers that support it.
	// +optional
	PingPong *PingPongSpec `json:"pingPong,omitempty"`

	// Least number of pods for a version that gets any traffic, at most spec.replicas. Needs trafficRouting. Defaults to 1.
	// +optional
	MinPodsPerReplicaSet *int32 `json:"minPodsPerReplicaSet,omitempty"`

	// How many pods of the new version must be available before a step counts as done. Defaults to all that the step asks
	// for.
	// +optional
	ReplicaProgressThreshold *ReplicaProgressThreshold `json:"replicaProgressThreshold,omitempty"`
}

// PingPongSpec is two Services that take turns at being the stable one.
type PingPongSpec struct {
	// Name of one Service. Must not be the pong Service.
	PingService string `json:"pingService"`

	// Name of the other Service.
	PongService string `json:"pongService"`
}

// ReplicaProgressThreshold is how many pods of the new version must be available before a step counts as done.
type ReplicaProgressThreshold struct {
	// Whether value is a percentage of the pods that the step asks for, or a number of pods.
	Type ProgressThresholdType `json:"type"`

	// The percentage or number of pods. A negative value has no effect.
	Value int32 `json:"value"`
}

// ProgressThresholdType is the unit of a ReplicaProgressThreshold.
type ProgressThresholdType string

const (
	// ProgressThresholdPercent counts in percent of the pods that the step asks for.
	ProgressThresholdPercent ProgressThresholdType = "Percent"
	// ProgressThresholdPods counts in pods.
	ProgressThresholdPods ProgressThresholdType = "Pods"
)

// CanaryStep is one thing to do during an update. Exactly one of its fields is set.
//
// status.currentStepHash is computed from the JSON text of the steps, so the order of the fields here and below is part of
// the wire format.
type CanaryStep struct {
	// Share of the traffic that the new version gets, in percent, or in parts of trafficRouting.maxTrafficWeight where that
	// is set. Without trafficRouting, the share of the pods. Done when the pods for it are available and the routers confirm
	// the weight.
	// +optional
	SetWeight *int32 `json:"setWeight,omitempty"`

	// Wait. With a duration, until it has passed; written as {}, until `kubectl argo rollouts promote`.
	// +optional
	Pause *RolloutPause `json:"pause,omitempty"`

	// Run an experiment, and go on when it is successful. A failure aborts the update.
	// +optional
	Experiment *RolloutExperimentStep `json:"experiment,omitempty"`

	// Run an analysis, and go on when it is successful. A failure aborts the update, an inconclusive result pauses it.
	// +optional
	Analysis *RolloutAnalysis `json:"analysis,omitempty"`

	// Set the number of pods of the new version apart from its traffic. Stays in force in later steps, until another
	// setCanaryScale. Needs trafficRouting.
	// +optional
	SetCanaryScale *SetCanaryScale `json:"setCanaryScale,omitempty"`

	// Send requests with certain headers to the new version, whatever the weight. The route must be listed in
	// trafficRouting.managedRoutes.
	// +optional
	SetHeaderRoute *SetHeaderRoute `json:"setHeaderRoute,omitempty"`

	// Send a copy of certain requests to the new version; its answers are thrown away. The route must be listed in
	// trafficRouting.managedRoutes.
	// +optional
	SetMirrorRoute *SetMirrorRoute `json:"setMirrorRoute,omitempty"`

	// Run a step plugin, and go on when it is successful.
	// +optional
	Plugin *PluginStep `json:"plugin,omitempty"`
}

// RolloutPause is how long to wait.
type RolloutPause struct {
	// How long: a number of seconds (30, "30"), or a duration with units s, m and h such as "30s", "10m" or "1h30m".
	// Without it, the pause lasts until the update is promoted.
	// +optional
	Duration *intstr.IntOrString `json:"duration,omitempty"`
}

// SetCanaryScale is how many pods the new version has. Give one of its fields.
type SetCanaryScale struct {
	// Number of pods as a percentage of spec.replicas, rounded up.
	// +optional
	Weight *int32 `json:"weight,omitempty"`

	// Number of pods.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Whether the number of pods follows the traffic weight again, as it does before any setCanaryScale.
	// +optional
	MatchTrafficWeight bool `json:"matchTrafficWeight,omitempty"`
}

// SetHeaderRoute sends requests with certain headers to the new version.
type SetHeaderRoute struct {
	// Name of the route; must be listed in trafficRouting.managedRoutes.
	// +optional
	Name string `json:"name,omitempty"`

	// Which requests: those that any of the entries fits. Without entries the route is removed.
	// +optional
	Match []HeaderRoutingMatch `json:"match,omitempty"`
}

// HeaderRoutingMatch fits requests by one header.
type HeaderRoutingMatch struct {
	// Name of the header.
	HeaderName string `json:"headerName"`

	// What the value of the header must be.
	HeaderValue *StringMatch `json:"headerValue"`
}

// StringMatch compares a text. Exactly one of its fields is set.
type StringMatch struct {
	// The text must be this.
	// +optional
	Exact string `json:"exact,omitempty"`

	// The text must match this regular expression, in the syntax of the traffic router.
	// +optional
	Regex string `json:"regex,omitempty"`

	// The text must begin with this.
	// +optional
	Prefix string `json:"prefix,omitempty"`
}

// SetMirrorRoute sends a copy of certain requests to the new version.
type SetMirrorRoute struct {
	// Name of the route; must be listed in trafficRouting.managedRoutes.
	// +optional
	Name string `json:"name,omitempty"`

	// Which requests: those that any of the entries fits. Without entries the route is removed.
	// +optional
	Match []RouteMatch `json:"match,omitempty"`

	// Percentage of the fitting requests that is copied, 0 to 100. Defaults to 100.
	// +optional
	Percentage *int32 `json:"percentage,omitempty"`
}

// RouteMatch fits requests for which all of its fields fit.
type RouteMatch struct {
	// What the HTTP method must be.
	// +optional
	Method *StringMatch `json:"method,omitempty"`

	// What the path must be.
	// +optional
	Path *StringMatch `json:"path,omitempty"`

	// What the values of headers must be, by name of the header.
	// +optional
	Headers map[string]StringMatch `json:"headers,omitempty"`
}

// PluginStep runs a step plugin.
type PluginStep struct {
	// Name of the plugin, as in the ConfigMap argo-rollouts-config.
	Name string `json:"name"`

	// Settings for the plugin, in its own form.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Config json.RawMessage `json:"config,omitempty"`
}

// RolloutExperimentStep is an experiment that runs during an update.
type RolloutExperimentStep struct {
	// The versions to run, each as a ReplicaSet of its own.
	Templates []RolloutExperimentTemplate `json:"templates"`

	// How long to run once all templates are available, such as "30m". Without it, until the analyses that are required for
	// completion end.
	// +optional
	Duration DurationString `json:"duration,omitempty"`

	// Analyses to run once all templates are available. A failure of any ends the experiment and aborts the update.
	// +optional
	Analyses []RolloutExperimentStepAnalysisTemplateRef `json:"analyses,omitempty"`

	// Metrics whose results are recorded and do not count.
	// +optional
	DryRun []DryRun `json:"dryRun,omitempty"`

	// Labels and annotations for the AnalysisRuns of the experiment.
	// +optional
	AnalysisRunMetadata AnalysisRunMetadata `json:"analysisRunMetadata,omitempty"`

	// Seconds that the experiment's pods are kept after it has ended. Defaults to 30.
	// +optional
	ScaleDownDelaySeconds *int32 `json:"scaleDownDelaySeconds,omitempty"`
}

// RolloutExperimentTemplate is one version that an experiment runs.
type RolloutExperimentTemplate struct {
	// Name of the template, unique in the experiment; part of the name of its ReplicaSet.
	Name string `json:"name"`

	// Which version's pod template to run: stable or canary.
	SpecRef ReplicaSetSpecRef `json:"specRef"`

	// Number of pods. Defaults to 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Labels and annotations to add to the pods.
	// +optional
	Metadata PodTemplateMetadata `json:"metadata,omitempty"`

	// Labels that select the pods. Defaults to the Rollout's selector and the labels in metadata.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Share of the traffic that the template gets, taken from the stable version, in the unit of setWeight. Needs
	// trafficRouting with a router that supports it. Defaults to none.
	// +optional
	Weight *int32 `json:"weight,omitempty"`

	// Makes a Service for the pods of the template. One is made anyway where weight is set.
	// +optional
	Service *TemplateService `json:"service,omitempty"`
}

// ReplicaSetSpecRef is one of the two versions of an update.
type ReplicaSetSpecRef string

const (
	// StableSpecRef is the version that served before the update.
	StableSpecRef ReplicaSetSpecRef = "stable"
	// CanarySpecRef is the version that the update brings.
	CanarySpecRef ReplicaSetSpecRef = "canary"
)

// RolloutExperimentStepAnalysisTemplateRef is an analysis that an experiment step runs.
type RolloutExperimentStepAnalysisTemplateRef struct {
	// Name of the analysis, unique in the experiment; part of the name of its AnalysisRun.
	Name string `json:"name"`

	// Name of the AnalysisTemplate, or ClusterAnalysisTemplate, that describes it.
	TemplateName string `json:"templateName"`

	// Whether templateName is a ClusterAnalysisTemplate. Defaults to false.
	// +optional
	ClusterScope bool `json:"clusterScope,omitempty"`

	// Values for the arguments of the template.
	// +optional
	Args []AnalysisRunArgument `json:"args,omitempty"`

	// Whether the experiment waits for this analysis to end. Experiments whose required analyses have all been successful
	// end early. Defaults to false.
	// +optional
	RequiredForCompletion bool `json:"requiredForCompletion,omitempty"`
}
