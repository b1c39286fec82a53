package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// CanaryStrategy moves traffic to the new version in steps. Without trafficRouting, the new version's share of the traffic is its share of
// the pods.
//
// +kubebuilder:validation:XValidation:rule=`!(has(self.maxSurge) && has(self.maxUnavailable) && string(self.maxSurge).matches('^0+%?$') && string(self.maxUnavailable).matches('^0+%?$'))`,message=`maxSurge and maxUnavailable must not both be 0, or no pod could ever be replaced: set one of them to at least 1`,fieldPath=`.maxSurge`
// +kubebuilder:validation:XValidation:rule=`!(has(self.canaryService) && has(self.stableService) && size(self.canaryService) > 0 && self.canaryService == self.stableService)`,message=`canaryService and stableService must be two different Services: each is pointed at one version only`,fieldPath=`.canaryService`
// +kubebuilder:validation:XValidation:rule=`has(self.trafficRouting) || !has(self.scaleDownDelaySeconds)`,message=`scaleDownDelaySeconds needs trafficRouting; remove it: without a router the share of the pods is the share of the traffic, and old pods go as new ones come`,fieldPath=`.scaleDownDelaySeconds`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`has(self.trafficRouting) || !has(self.dynamicStableScale) || !self.dynamicStableScale`,message=`dynamicStableScale needs trafficRouting; remove it: without a router the stable version shrinks anyway`,fieldPath=`.dynamicStableScale`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!(has(self.scaleDownDelaySeconds) && has(self.dynamicStableScale) && self.dynamicStableScale)`,message=`scaleDownDelaySeconds cannot be combined with dynamicStableScale, which scales the old version down with its traffic: remove one of the two`,fieldPath=`.scaleDownDelaySeconds`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!has(self.steps) || self.steps.all(s, !has(s.setWeight) || s.setWeight <= (has(self.trafficRouting) && has(self.trafficRouting.maxTrafficWeight) ? self.trafficRouting.maxTrafficWeight : 100))`,message=`SetWeight needs to be between 0 and 100, or trafficRouting.maxTrafficWeight where that is set`,fieldPath=`.steps`
// +kubebuilder:validation:XValidation:rule=`!has(self.steps) || has(self.trafficRouting) || !self.steps.exists(s, has(s.setCanaryScale))`,message=`setCanaryScale needs trafficRouting: without a router the share of the pods is the share of the traffic, so use setWeight`,fieldPath=`.steps`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!has(self.steps) || !self.steps.exists(s, has(s.setHeaderRoute)) || (has(self.trafficRouting) && (has(self.trafficRouting.istio) || has(self.trafficRouting.alb) || has(self.trafficRouting.apisix) || has(self.trafficRouting.gatewayAPI) || has(self.trafficRouting.custom) || has(self.trafficRouting.plugins)))`,message=`setHeaderRoute needs trafficRouting with istio, alb, apisix, gatewayAPI, custom or a plugin; other routers cannot route by header`,fieldPath=`.steps`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!has(self.steps) || !self.steps.exists(s, has(s.setMirrorRoute)) || (has(self.trafficRouting) && (has(self.trafficRouting.istio) || has(self.trafficRouting.gatewayAPI) || (has(self.trafficRouting.traefik) && has(self.trafficRouting.traefik.mirroringTraefikServiceName)) || has(self.trafficRouting.plugins)))`,message=`setMirrorRoute needs trafficRouting with istio, gatewayAPI, traefik with mirroringTraefikServiceName, or a plugin; other routers cannot mirror requests`,fieldPath=`.steps`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!has(self.steps) || self.steps.all(s, !has(s.setHeaderRoute) || (has(s.setHeaderRoute.name) && has(self.trafficRouting) && has(self.trafficRouting.managedRoutes) && self.trafficRouting.managedRoutes.exists(r, r.name == s.setHeaderRoute.name)))`,message=`the name of every setHeaderRoute must be listed in trafficRouting.managedRoutes, as "- name: <route>"`,fieldPath=`.steps`
// +kubebuilder:validation:XValidation:rule=`!has(self.steps) || self.steps.all(s, !has(s.setMirrorRoute) || (has(s.setMirrorRoute.name) && has(self.trafficRouting) && has(self.trafficRouting.managedRoutes) && self.trafficRouting.managedRoutes.exists(r, r.name == s.setMirrorRoute.name)))`,message=`the name of every setMirrorRoute must be listed in trafficRouting.managedRoutes, as "- name: <route>"`,fieldPath=`.steps`
// +kubebuilder:validation:XValidation:rule=`!has(self.steps) || !has(self.trafficRouting) || !has(self.trafficRouting.alb) || self.steps.all(s, !has(s.setHeaderRoute) || !has(s.setHeaderRoute.match) || s.setHeaderRoute.match.all(m, has(m.headerValue.exact)))`,message=`alb can only compare whole header values: use headerValue.exact in setHeaderRoute`,fieldPath=`.steps`
// +kubebuilder:validation:XValidation:rule=`!has(self.steps) || self.steps.all(s, !has(s.experiment) || s.experiment.templates.all(t, !has(t.weight))) || (has(self.trafficRouting) && (has(self.trafficRouting.smi) || has(self.trafficRouting.alb) || has(self.trafficRouting.istio) || has(self.trafficRouting.gatewayAPI) || has(self.trafficRouting.plugins)))`,message=`weight of an experiment template needs trafficRouting with smi, alb, istio, gatewayAPI or a plugin: leave weight out, or add such a router`,fieldPath=`.steps`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!has(self.steps) || self.steps.all(s, !has(s.experiment) || s.experiment.templates.map(t, has(t.weight) ? t.weight : 0).sum() <= (has(self.trafficRouting) && has(self.trafficRouting.maxTrafficWeight) ? self.trafficRouting.maxTrafficWeight : 100))`,message=`the weights of the templates of an experiment must not add up to more than 100, or trafficRouting.maxTrafficWeight where that is set`,fieldPath=`.steps`
// +kubebuilder:validation:XValidation:rule=`has(self.pingPong) || !has(self.trafficRouting) || !(has(self.trafficRouting.alb) || has(self.trafficRouting.gatewayAPI) || (has(self.trafficRouting.istio) && !has(self.trafficRouting.istio.destinationRule))) || (has(self.canaryService) && size(self.canaryService) > 0 && has(self.stableService) && size(self.stableService) > 0)`,message=`canaryService and stableService are required with this traffic router, which tells the versions apart by their Services`,fieldPath=`.canaryService`,reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule=`!has(self.trafficRouting) || !(has(self.trafficRouting.smi) || has(self.trafficRouting.apisix) || has(self.trafficRouting.ambassador) || has(self.trafficRouting.nginx) || has(self.trafficRouting.appMesh) || has(self.trafficRouting.traefik) || has(self.trafficRouting.custom)) || (has(self.canaryService) && size(self.canaryService) > 0 && has(self.stableService) && size(self.stableService) > 0)`,message=`canaryService and stableService are required with this traffic router, which tells the versions apart by their Services`,fieldPath=`.canaryService`,reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule=`!has(self.pingPong) || (has(self.trafficRouting) && (has(self.trafficRouting.alb) || has(self.trafficRouting.istio) || has(self.trafficRouting.gatewayAPI) || has(self.trafficRouting.plugins)))`,message=`pingPong needs trafficRouting with alb, istio, gatewayAPI or a plugin: use canaryService and stableService instead`,fieldPath=`.pingPong`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!has(self.pingPong) || !has(self.trafficRouting) || !has(self.trafficRouting.alb) || (has(self.trafficRouting.alb.rootService) && size(self.trafficRouting.alb.rootService) > 0)`,message=`pingPong with alb needs trafficRouting.alb.rootService: the Service that the Ingress names, as neither ping nor pong stays the stable one`,fieldPath=`.trafficRouting.alb.rootService`,reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule=`!has(self.enforceMaxSurge) || !self.enforceMaxSurge || (has(self.dynamicStableScale) && self.dynamicStableScale)`,message=`enforceMaxSurge needs dynamicStableScale: while the stable version keeps all its pods, the new one cannot have as many`,fieldPath=`.enforceMaxSurge`
// +kubebuilder:validation:XValidation:rule=`!has(self.trafficRouting) || !has(self.trafficRouting.sessionAffinity) || !has(self.dynamicStableScale) || !self.dynamicStableScale`,message=`sessionAffinity keeps clients on the stable version, which dynamicStableScale takes the pods from: remove one of the two`,fieldPath=`.trafficRouting.sessionAffinity`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!has(self.steps) || !has(self.trafficRouting) || !has(self.trafficRouting.sessionAffinity) || !self.steps.exists(s, has(s.setMirrorRoute))`,message=`setMirrorRoute would split the clients that it mirrors again, and sessionAffinity keeps them on a version: remove one of the two`,fieldPath=`.steps`,reason=FieldValueForbidden
type CanaryStrategy struct {
	// Name of a Service that the controller points at the pods of the new version only. Required by most traffic routers. Without a router,
	// it is a way to reach the new version directly. Must not be the same as stableService.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	CanaryService string `json:"canaryService,omitempty"`

	// Name of a Service that the controller points at the pods of the stable version only. Required by most traffic routers.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	StableService string `json:"stableService,omitempty"`

	// The steps of an update, in order. After the last step the new version is promoted. Without steps, an update is a rolling update
	// within maxSurge and maxUnavailable. Changing the steps during an update restarts it from the first step.
	// +optional
	// +kubebuilder:validation:MaxItems=500
	Steps []CanaryStep `json:"steps,omitempty"`

	// The traffic routers that split traffic by weight. Without trafficRouting, the share of the traffic is the share of the pods.
	// +optional
	TrafficRouting *RolloutTrafficRouting `json:"trafficRouting,omitempty"`

	// How many pods may run above spec.replicas during an update: a number, or a percentage of spec.replicas such as "25%", rounded up.
	// Must not be 0 when maxUnavailable is 0. Defaults to 25%. With trafficRouting, the new version's pods are added to the stable ones,
	// and maxSurge has no effect unless enforceMaxSurge is set.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`type(self) == int ? self >= 0 : self.matches('^[0-9]+%?$')`,message=`must be a number of pods such as 1, or a percentage such as 25%; neither can be negative`
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// How many of spec.replicas may be unavailable during an update or restart: a number, or a percentage of spec.replicas such as "25%",
	// rounded down. Must not be 0 when maxSurge is 0. Defaults to 25%. If it rounds down to 0, a restart starts one additional pod before
	// it deletes one.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`type(self) == int ? self >= 0 : self.matches('^[0-9]+%?$')`,message=`must be a number of pods such as 1, or a percentage such as 25%; neither can be negative`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// Analysis that runs in the background during the update, from startingStep to the end of the update. A failure aborts the update.
	// +optional
	Analysis *RolloutAnalysisBackground `json:"analysis,omitempty"`

	// Keeps pods of the new version off the nodes of the stable one.
	// +optional
	AntiAffinity *AntiAffinity `json:"antiAffinity,omitempty"`

	// Labels and annotations that pods of the new version carry until it is promoted. They are added to and removed from running pods
	// without a restart. Changing them does not create a new version.
	// +optional
	CanaryMetadata *PodTemplateMetadata `json:"canaryMetadata,omitempty"`

	// Labels and annotations that pods of the stable version carry. They are added to and removed from running pods without a restart.
	// Changing them does not create a new version.
	// +optional
	StableMetadata *PodTemplateMetadata `json:"stableMetadata,omitempty"`

	// Seconds that a version keeps its pods after traffic has moved away from it. Needs trafficRouting, and cannot be combined with
	// dynamicStableScale. Defaults to 30.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ScaleDownDelaySeconds *int32 `json:"scaleDownDelaySeconds,omitempty"`

	// Number of old versions that may keep their pods for scaleDownDelaySeconds at the same time. The oldest versions beyond it are scaled
	// down immediately. Defaults to no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ScaleDownDelayRevisionLimit *int32 `json:"scaleDownDelayRevisionLimit,omitempty"`

	// Seconds that the new version keeps its pods after an update is aborted. Needs trafficRouting. 0 keeps them until the next update.
	// Defaults to 30. With dynamicStableScale and no value, the new version scales down as traffic returns to the stable version.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AbortScaleDownDelaySeconds *int32 `json:"abortScaleDownDelaySeconds,omitempty"`

	// Whether the stable version scales down as traffic moves to the new version, so that an update needs few more pods than spec.replicas.
	// Returning to the stable version then takes as long as its pods take to start. Needs trafficRouting. Defaults to false: the stable
	// version keeps its full size until the update ends.
	// +optional
	DynamicStableScale bool `json:"dynamicStableScale,omitempty"`

	// Whether maxSurge also limits the total number of pods when trafficRouting is set: never more than spec.replicas plus maxSurge, or 2
	// if spec.replicas is 1 and maxSurge is 0. The update then moves a few pods at a time: the new version scales up and takes traffic, and
	// the stable version scales down. Needs dynamicStableScale. Defaults to false: the new version's pods are added to the stable ones.
	// +optional
	EnforceMaxSurge bool `json:"enforceMaxSurge,omitempty"`

	// Two Services that take turns as the stable and the canary Service, so that the selector of a Service that carries traffic never
	// changes. Replaces canaryService and stableService, for routers that support it.
	// +optional
	PingPong *PingPongSpec `json:"pingPong,omitempty"`

	// Minimum number of pods for a version that receives any traffic, at most spec.replicas. Needs trafficRouting. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinPodsPerReplicaSet *int32 `json:"minPodsPerReplicaSet,omitempty"`

	// How many pods of the new version must be available before a step is complete. Defaults to all the pods that the step requests.
	// +optional
	ReplicaProgressThreshold *ReplicaProgressThreshold `json:"replicaProgressThreshold,omitempty"`
}

// PingPongSpec names two Services that take turns as the stable Service.
//
// +kubebuilder:validation:XValidation:rule=`self.pingService != self.pongService`,message=`pingService and pongService must be two different Services`,fieldPath=`.pongService`
type PingPongSpec struct {
	// Name of one Service. Must not be the same as pongService.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	PingService string `json:"pingService"`

	// Name of the other Service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	PongService string `json:"pongService"`
}

// ReplicaProgressThreshold is how many pods of the new version must be available before a step is complete.
//
// +kubebuilder:validation:XValidation:rule=`self.type != 'Percent' || self.value <= 100`,message=`value must be at most 100 with type Percent, or no step could ever be done`,fieldPath=`.value`
type ReplicaProgressThreshold struct {
	// Whether value is a percentage of the pods that the step requests, or a number of pods.
	// +kubebuilder:validation:Enum=Percent;Pods
	Type ProgressThresholdType `json:"type"`

	// The percentage or number of pods. A negative value has no effect.
	Value int32 `json:"value"`
}

// ProgressThresholdType is the unit of a ReplicaProgressThreshold.
type ProgressThresholdType string

const (
	// ProgressThresholdPercent counts in percent of the pods that the step requests.
	ProgressThresholdPercent ProgressThresholdType = "Percent"
	// ProgressThresholdPods counts in pods.
	ProgressThresholdPods ProgressThresholdType = "Pods"
)
