package config

import "github.com/sluice-delivery/sluice/api/v1alpha1"

// ofEvents are the names of triggers that fire on events.
var ofEvents = func() map[string]bool {
	all := map[string]bool{}
	for _, reason := range reasons() {
		all[TriggerOf(reason)] = true
	}
	return all
}()

// reasons are those of all events on Rollouts, AnalysisRuns and Experiments.
func reasons() []string {
	all := []string{
		v1alpha1.EventRolloutAddedToInformer,
		v1alpha1.EventRolloutUpdated,
		v1alpha1.EventRolloutNotCompleted,
		v1alpha1.EventRolloutCompleted,
		v1alpha1.EventRolloutStepCompleted,
		v1alpha1.EventRolloutPaused,
		v1alpha1.EventRolloutResumed,
		v1alpha1.EventRolloutAborted,
		v1alpha1.EventRolloutDeleted,
		v1alpha1.EventInvalidSpec,
		v1alpha1.EventNewReplicaSetCreated,
		v1alpha1.EventScalingReplicaSet,
		v1alpha1.EventSwitchService,
		v1alpha1.EventSkipSteps,
		v1alpha1.EventTrafficWeightUpdated,
		v1alpha1.EventTrafficRoutingError,
		v1alpha1.EventRouteRestored,
		v1alpha1.EventWeightVerifyError,
		v1alpha1.EventTargetGroupVerified,
		v1alpha1.EventTargetGroupUnverified,
		v1alpha1.EventTargetGroupVerifyError,
		v1alpha1.EventLoadBalancerNotFound,
		v1alpha1.EventStepPluginTransition,
		v1alpha1.EventReconciliationError,
		v1alpha1.EventReplicaSetCreateError,
		v1alpha1.EventReplicaSetUpdateError,
		v1alpha1.EventExperimentCreated,
		v1alpha1.EventPatchingALBIngress,
		v1alpha1.EventCreatingCanaryIngress,
		v1alpha1.EventPatchingCanaryIngress,
		v1alpha1.EventUpdatedVirtualService,
		v1alpha1.EventVirtualServiceNotFound,
		v1alpha1.EventUpdatedDestinationRule,
		v1alpha1.EventDestinationRuleNotFound,
		v1alpha1.EventTrafficSplitCreated,
		v1alpha1.EventTrafficSplitNotCreated,
		v1alpha1.EventAmbassadorMappingNotFound,
		v1alpha1.EventAmbassadorMappingConfigError,
		v1alpha1.EventCanaryMappingWeightUpdate,
		v1alpha1.EventCanaryMappingCreationError,
		v1alpha1.EventCanaryMappingUpdateError,
		v1alpha1.EventCanaryMappingCleanupError,
		v1alpha1.EventTraefikServiceUpdateError,
		v1alpha1.EventApisixRouteCreateError,
		v1alpha1.EventApisixRouteUpdateError,
		v1alpha1.EventApisixRouteDeleteError,
		v1alpha1.EventVirtualRouterNotFound,
		v1alpha1.EventVirtualNodeNotFound,
		v1alpha1.EventAnalysisRunTerminating,
		v1alpha1.ReasonWriteRefused,
		v1alpha1.EventUserAction,
	}
	phases := []v1alpha1.AnalysisPhase{
		v1alpha1.AnalysisPhasePending, v1alpha1.AnalysisPhaseRunning, v1alpha1.AnalysisPhaseSuccessful, v1alpha1.AnalysisPhaseFailed,
		v1alpha1.AnalysisPhaseError, v1alpha1.AnalysisPhaseInconclusive,
	}
	for _, prefix := range []string{v1alpha1.EventAnalysisRunPrefix, v1alpha1.EventMetricPrefix, v1alpha1.EventExperimentPrefix} {
		for _, phase := range phases {
			all = append(all, prefix+string(phase))
		}
	}
	for _, code := range []v1alpha1.TemplateStatusCode{
		v1alpha1.TemplateStatusProgressing, v1alpha1.TemplateStatusRunning, v1alpha1.TemplateStatusSuccessful,
		v1alpha1.TemplateStatusFailed, v1alpha1.TemplateStatusError,
	} {
		all = append(all, v1alpha1.EventTemplatePrefix+string(code))
	}
	return all
}
