package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// status.currentStepHash is computed from the JSON text of the steps, so the order of the fields from here on is part of the
// wire format.

// CanaryStep is one step of an update. Set exactly one of its fields.
//
// +kubebuilder:validation:XValidation:rule=`[has(self.setWeight), has(self.pause), has(self.experiment), has(self.analysis), has(self.setCanaryScale), has(self.setHeaderRoute), has(self.setMirrorRoute), has(self.plugin)].filter(x, x).size() == 1`,message=`a step must have exactly one of setWeight, pause, experiment, analysis, setCanaryScale, setHeaderRoute, setMirrorRoute and plugin; begin each with its own "- "`
type CanaryStep struct {
	// Share of the traffic that the new version gets, in percent, or in parts of trafficRouting.maxTrafficWeight if that is
	// set. Without trafficRouting, it is the share of the pods. The step is complete when the pods for it are available and
	// the routers confirm the weight.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SetWeight *int32 `json:"setWeight,omitempty"`

	// Pause the update. With a duration, until it has passed; without one (pause: {}), until `kubectl argo rollouts promote`.
	// +optional
	Pause *RolloutPause `json:"pause,omitempty"`

	// Run an experiment, and continue when it is successful. A failure aborts the update.
	// +optional
	Experiment *RolloutExperimentStep `json:"experiment,omitempty"`

	// Run an analysis, and continue when it is successful. A failure aborts the update; an inconclusive result pauses it.
	// +optional
	Analysis *RolloutAnalysis `json:"analysis,omitempty"`

	// Set the number of pods of the new version independently of its traffic. Stays in effect until another setCanaryScale
	// step. Needs trafficRouting.
	// +optional
	SetCanaryScale *SetCanaryScale `json:"setCanaryScale,omitempty"`

	// Send requests with certain headers to the new version, whatever the weight. The route must be listed in
	// trafficRouting.managedRoutes.
	// +optional
	SetHeaderRoute *SetHeaderRoute `json:"setHeaderRoute,omitempty"`

	// Send a copy of certain requests to the new version; its responses are discarded. The route must be listed in
	// trafficRouting.managedRoutes.
	// +optional
	SetMirrorRoute *SetMirrorRoute `json:"setMirrorRoute,omitempty"`

	// Run a step plugin, and continue when it is successful.
	// +optional
	Plugin *PluginStep `json:"plugin,omitempty"`
}

// RolloutPause is how long to pause.
type RolloutPause struct {
	// How long to pause: a number of seconds (30, "30"), or a duration with units h, m, s and ms such as "30s", "10m" or
	// "1h30m". Without a duration, the pause lasts until the update is promoted.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`type(self) == int ? self >= 0 : self.matches('^\\+?[0-9]+$') || self.matches('^\\+?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,message=`must be seconds such as 30, or a length of time with units h, m, s and ms such as 30s, 10m or 1h30m (a day is 24h), and not negative; leave duration out to wait for a promotion`
	Duration *intstr.IntOrString `json:"duration,omitempty"`
}

// SetCanaryScale sets the number of pods of the new version. Set exactly one of its fields.
//
// +kubebuilder:validation:XValidation:rule=`[has(self.weight), has(self.replicas), has(self.matchTrafficWeight) && self.matchTrafficWeight].filter(x, x).size() <= 1`,message=`set only one of weight, replicas and matchTrafficWeight: true`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`has(self.weight) || has(self.replicas) || has(self.matchTrafficWeight)`,message=`set one of weight (percent of spec.replicas), replicas (a number of pods) and matchTrafficWeight: true (follow setWeight)`,reason=FieldValueRequired
type SetCanaryScale struct {
	// Number of pods as a percentage of spec.replicas, rounded up. If trafficRouting.maxTrafficWeight is set, it is in parts
	// of that, like setWeight.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Weight *int32 `json:"weight,omitempty"`

	// Number of pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// Whether the number of pods follows the traffic weight again, as it does before any setCanaryScale step.
	// +optional
	MatchTrafficWeight bool `json:"matchTrafficWeight,omitempty"`
}

// SetHeaderRoute sends requests with certain headers to the new version.
type SetHeaderRoute struct {
	// Name of the route; must be listed in trafficRouting.managedRoutes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Which requests to match: those that any of the entries matches. Without entries, the route is removed.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	Match []HeaderRoutingMatch `json:"match,omitempty"`
}

// HeaderRoutingMatch matches requests by one header.
type HeaderRoutingMatch struct {
	// Name of the header.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	HeaderName string `json:"headerName"`

	// What the value of the header must be.
	HeaderValue *StringMatch `json:"headerValue"`
}

// StringMatch matches a string. Set exactly one of its fields.
//
// +kubebuilder:validation:XValidation:rule=`[has(self.exact) && size(self.exact) > 0, has(self.regex) && size(self.regex) > 0, has(self.prefix) && size(self.prefix) > 0].filter(x, x).size() == 1`,message=`set exactly one of exact, regex and prefix`
type StringMatch struct {
	// The string must be equal to this.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Exact string `json:"exact,omitempty"`

	// The string must match this regular expression, in the syntax of the traffic router.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Regex string `json:"regex,omitempty"`

	// The string must begin with this.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Prefix string `json:"prefix,omitempty"`
}

// SetMirrorRoute sends a copy of certain requests to the new version.
type SetMirrorRoute struct {
	// Name of the route; must be listed in trafficRouting.managedRoutes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Which requests to match: those that any of the entries matches. Without entries, the route is removed.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	Match []RouteMatch `json:"match,omitempty"`

	// Percentage of the matching requests to copy, 0 to 100. Defaults to 100.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percentage *int32 `json:"percentage,omitempty"`
}

// RouteMatch matches requests that match all of its fields.
//
// +kubebuilder:validation:XValidation:rule=`has(self.method) || has(self.path) || (has(self.headers) && size(self.headers) > 0)`,message=`set at least one of method, path and headers; to mirror all requests, give path with prefix: /`,reason=FieldValueRequired
type RouteMatch struct {
	// What the HTTP method must be.
	// +optional
	Method *StringMatch `json:"method,omitempty"`

	// What the path must be.
	// +optional
	Path *StringMatch `json:"path,omitempty"`

	// What the values of headers must be, by header name.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Headers map[string]StringMatch `json:"headers,omitempty"`
}

// PluginStep runs a step plugin.
type PluginStep struct {
	// Name of the plugin, as in the ConfigMap argo-rollouts-config.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Settings for the plugin, in the format that the plugin defines.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Config json.RawMessage `json:"config,omitempty"`
}

// RolloutExperimentStep is an experiment that runs during an update.
type RolloutExperimentStep struct {
	// The versions to run. Each gets its own ReplicaSet.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	Templates []RolloutExperimentTemplate `json:"templates"`

	// How long to run once all templates are available, such as "30m". Without it, the experiment runs until the analyses that
	// are required for completion end.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule=`size(self) == 0 || self.matches('^\\+?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,message=`must be a length of time with units h, m, s and ms, such as 30s, 5m or 1h30m; a day is 24h`
	Duration DurationString `json:"duration,omitempty"`

	// Analyses to run once all templates are available. If any of them fails, the experiment ends and the update is aborted.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	Analyses []RolloutExperimentStepAnalysisTemplateRef `json:"analyses,omitempty"`

	// Metrics whose results are recorded but do not affect the outcome.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	DryRun []DryRun `json:"dryRun,omitempty"`

	// Labels and annotations for the AnalysisRuns of the experiment.
	// +optional
	AnalysisRunMetadata AnalysisRunMetadata `json:"analysisRunMetadata,omitempty"`

	// Seconds that the experiment's pods are kept after it has ended. Defaults to 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ScaleDownDelaySeconds *int32 `json:"scaleDownDelaySeconds,omitempty"`
}

// RolloutExperimentTemplate is one version that an experiment runs.
type RolloutExperimentTemplate struct {
	// Name of the template, unique in the experiment. Part of the name of its ReplicaSet.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Which version's pod template to run: stable or canary.
	// +kubebuilder:validation:Enum=stable;canary
	SpecRef ReplicaSetSpecRef `json:"specRef"`

	// Number of pods. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// Labels and annotations to add to the pods.
	// +optional
	Metadata PodTemplateMetadata `json:"metadata,omitempty"`

	// Labels that select the pods. Defaults to the Rollout's selector plus the labels in metadata.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Share of the traffic that the template gets, taken from the stable version, in the unit of setWeight. Needs
	// trafficRouting with a router that supports it. Defaults to none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Weight *int32 `json:"weight,omitempty"`

	// Creates a Service for the pods of the template. A Service is also created if weight is set.
	// +optional
	Service *TemplateService `json:"service,omitempty"`
}

// ReplicaSetSpecRef is one of the two versions of an update.
type ReplicaSetSpecRef string

const (
	// StableSpecRef is the version that served before the update.
	StableSpecRef ReplicaSetSpecRef = "stable"
	// CanarySpecRef is the version that the update introduces.
	CanarySpecRef ReplicaSetSpecRef = "canary"
)

// RolloutExperimentStepAnalysisTemplateRef is an analysis that an experiment step runs.
type RolloutExperimentStepAnalysisTemplateRef struct {
	// Name of the analysis, unique in the experiment. Part of the name of its AnalysisRun.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Name of the AnalysisTemplate or ClusterAnalysisTemplate to run.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TemplateName string `json:"templateName"`

	// Whether templateName is a ClusterAnalysisTemplate. Defaults to false.
	// +optional
	ClusterScope bool `json:"clusterScope,omitempty"`

	// Values for the arguments of the template.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=name
	Args []AnalysisRunArgument `json:"args,omitempty"`

	// Whether the experiment waits for this analysis to end. An experiment ends early once all its required analyses are
	// successful. Defaults to false.
	// +optional
	RequiredForCompletion bool `json:"requiredForCompletion,omitempty"`
}
