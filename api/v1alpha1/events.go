package v1alpha1

// Reasons of events on Rollouts. They are also the names of notification triggers, kebab-cased after "on-". Reasons that a
// condition shares are declared with the conditions.
const (
	// EventRolloutAddedToInformer: the controller has started to manage the Rollout.
	EventRolloutAddedToInformer = "RolloutAddedToInformer"
	// EventRolloutUpdated: the spec describes a new version.
	EventRolloutUpdated = "RolloutUpdated"
	// EventRolloutNotCompleted: an update has started.
	EventRolloutNotCompleted = "RolloutNotCompleted"
	// EventRolloutCompleted: an update is complete; the message says how it ended.
	EventRolloutCompleted = ReasonRolloutCompleted
	// EventUserAction: someone did something in the dashboard or with the CLI; the message says what and who, such as "promoted by jane". Only the
	// dashboard in the cluster and the CLI write it.
	EventUserAction = "UserAction"
	// EventRolloutStepCompleted: a canary step is complete.
	EventRolloutStepCompleted = "RolloutStepCompleted"
	// EventRolloutPaused: the Rollout is paused.
	EventRolloutPaused = ReasonRolloutPaused
	// EventRolloutResumed: the Rollout continues after a pause.
	EventRolloutResumed = ReasonRolloutResumed
	// EventRolloutAborted, a warning: the update was aborted.
	EventRolloutAborted = ReasonRolloutAborted
	// EventRolloutDeleted: the Rollout was deleted.
	EventRolloutDeleted = "RolloutDeleted"
	// EventInvalidSpec, a warning: the spec, or an object that it refers to, is invalid. Once for each different message.
	EventInvalidSpec = ReasonInvalidSpec
	// EventNewReplicaSetCreated: a ReplicaSet for a new version was created.
	EventNewReplicaSetCreated = ReasonNewReplicaSetCreated
	// EventScalingReplicaSet: a ReplicaSet was scaled.
	EventScalingReplicaSet = "ScalingReplicaSet"
	// EventSwitchService: a Service was pointed at another version.
	EventSwitchService = "SwitchService"
	// EventSkipSteps: the steps are skipped, because the update is a rollback.
	EventSkipSteps = "SkipSteps"
	// EventTrafficWeightUpdated: the traffic routers were set to other weights.
	EventTrafficWeightUpdated = "TrafficWeightUpdated"
	// EventTrafficRoutingError, a warning: a traffic router could not be updated.
	EventTrafficRoutingError = "TrafficRoutingError"
	// EventRouteRestored, a warning: someone else changed what the controller sets in a route, and it was set again. At most once a minute.
	EventRouteRestored = "RouteRestored"
	// EventWeightVerifyError, a warning: a traffic router could not verify the weights in effect.
	EventWeightVerifyError = "WeightVerifyError"
	// EventTargetGroupVerified: AWS has registered all pods of a target group.
	EventTargetGroupVerified = "TargetGroupVerified"
	// EventTargetGroupUnverified, a warning: AWS has not yet registered all pods of a target group.
	EventTargetGroupUnverified = "TargetGroupUnverified"
	// EventTargetGroupVerifyError, a warning: the state of a target group could not be read from AWS.
	EventTargetGroupVerifyError = "TargetGroupVerifyError"
	// EventLoadBalancerNotFound, a warning: AWS does not have the load balancer of an Ingress.
	EventLoadBalancerNotFound = "LoadBalancerNotFound"
	// EventStepPluginTransition: a step plugin's phase changed.
	EventStepPluginTransition = "StepPluginTransition"
	// EventReconciliationError, a warning: something failed and will be retried. The spelling is part of the wire.
	EventReconciliationError = "ReconciliationError"
	// EventReplicaSetCreateError, a warning: a ReplicaSet could not be created.
	EventReplicaSetCreateError = ReasonReplicaSetCreateError
	// EventReplicaSetUpdateError, a warning: a ReplicaSet could not be changed.
	EventReplicaSetUpdateError = "ReplicaSetUpdateError"
	// EventExperimentCreated: the Experiment of a step was created.
	EventExperimentCreated = "ExperimentCreated"
)

// Reasons of events on Rollouts that one kind of traffic router reports.
const (
	// EventPatchingALBIngress: the weights or the managed routes in an Ingress of the AWS Load Balancer Controller were changed.
	EventPatchingALBIngress = "PatchingALBIngress"
	// EventCreatingCanaryIngress: the canary Ingress of ingress-nginx was created.
	EventCreatingCanaryIngress = "CreatingCanaryIngress"
	// EventPatchingCanaryIngress: the weight in the canary Ingress of ingress-nginx was changed.
	EventPatchingCanaryIngress = "PatchingCanaryIngress"
	// EventUpdatedVirtualService: the weights or the managed routes in an Istio VirtualService were changed. The reason has a space in it.
	EventUpdatedVirtualService = "Updated VirtualService"
	// EventVirtualServiceNotFound, a warning: there is no such VirtualService.
	EventVirtualServiceNotFound = "VirtualServiceNotFound"
	// EventUpdatedDestinationRule: the subsets of an Istio DestinationRule were pointed at other versions.
	EventUpdatedDestinationRule = "UpdatedDestinationRule"
	// EventDestinationRuleNotFound, a warning: there is no such DestinationRule.
	EventDestinationRuleNotFound = "DestinationRuleNotFound"
	// EventTrafficSplitCreated: the TrafficSplit was created.
	EventTrafficSplitCreated = "TrafficSplitCreated"
	// EventTrafficSplitNotCreated, a warning: the TrafficSplit could not be created.
	EventTrafficSplitNotCreated = "TrafficSplitNotCreated"
	// EventAmbassadorMappingNotFound, a warning: there is no such Ambassador Mapping.
	EventAmbassadorMappingNotFound = "AmbassadorMappingNotFound"
	// EventAmbassadorMappingConfigError, a warning: an Ambassador Mapping has a weight of its own.
	EventAmbassadorMappingConfigError = "AmbassadorMappingConfigError"
	// EventCanaryMappingWeightUpdate: the weight of an Ambassador canary Mapping was changed.
	EventCanaryMappingWeightUpdate = "CanaryMappingWeightUpdate"
	// EventCanaryMappingCreationError, a warning: an Ambassador canary Mapping could not be created.
	EventCanaryMappingCreationError = "CanaryMappingCreationError"
	// EventCanaryMappingUpdateError, a warning: an Ambassador canary Mapping could not be changed.
	EventCanaryMappingUpdateError = "CanaryMappingUpdateError"
	// EventCanaryMappingCleanupError, a warning: an Ambassador canary Mapping could not be deleted.
	EventCanaryMappingCleanupError = "CanaryMappingCleanupError"
	// EventTraefikServiceUpdateError, a warning: a TraefikService could not be changed.
	EventTraefikServiceUpdateError = "TraefikServiceUpdateError"
	// EventApisixRouteCreateError, a warning: an ApisixRoute could not be created.
	EventApisixRouteCreateError = "ApisixRouteCreateError"
	// EventApisixRouteUpdateError, a warning: an ApisixRoute could not be changed.
	EventApisixRouteUpdateError = "ApisixRouteUpdateError"
	// EventApisixRouteDeleteError, a warning: an ApisixRoute could not be deleted.
	EventApisixRouteDeleteError = "ApisixRouteDeleteError"
	// EventVirtualRouterNotFound: there is no such App Mesh virtual router. Never published, since App Mesh is not supported. The name stays known, so
	// that a trigger with its name is still taken for one of an event.
	EventVirtualRouterNotFound = "VirtualRouterNotFound"
	// EventVirtualNodeNotFound: there is no such App Mesh VirtualNode. Never published, like the one above.
	EventVirtualNodeNotFound = "VirtualNodeNotFound"
)

// Reasons that combine a word and a phase, such as AnalysisRunFailed, and the remaining reasons of events on AnalysisRuns
// and Experiments.
const (
	// EventAnalysisRunPrefix, with an AnalysisPhase: an AnalysisRun's phase changed. On the AnalysisRun, and on the Rollout or
	// Experiment that started it.
	EventAnalysisRunPrefix = "AnalysisRun"
	// EventMetricPrefix, with an AnalysisPhase, on an AnalysisRun: a metric ended.
	EventMetricPrefix = "Metric"
	// EventExperimentPrefix, with an AnalysisPhase, on an Experiment and its Rollout: the Experiment's phase changed.
	EventExperimentPrefix = "Experiment"
	// EventTemplatePrefix, with a TemplateStatusCode, on an Experiment: a template's status changed.
	EventTemplatePrefix = "Template"
	// EventAnalysisRunTerminating, on an Experiment: an AnalysisRun is being stopped.
	EventAnalysisRunTerminating = "AnalysisRunTerminating"
	// NoPreviousStatus stands for the missing previous phase in the message about the first phase.
	NoPreviousStatus = "NoPreviousStatus"
)
