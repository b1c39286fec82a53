package v1alpha1

// Labels that the controller sets.
const (
	// PodTemplateHashLabel identifies a version. It is on ReplicaSets, pods, AnalysisRuns and Experiments, and it is the key
	// by which Services, DestinationRule subsets and VirtualNodes select one version.
	PodTemplateHashLabel = "rollouts-pod-template-hash"

	// InstanceIDLabel shards objects between controllers: one that runs with --instance-id X manages the objects with the
	// value X, and one without the flag manages those without the label. Children inherit it.
	InstanceIDLabel = "argo-rollouts.argoproj.io/controller-instance-id"

	// RolloutTypeLabel is on an AnalysisRun: why it was started. Its values are Step, Background, PrePromotion, and PostPromotion.
	RolloutTypeLabel = "rollout-type"

	// StepIndexLabel is on AnalysisRuns of canary steps: the decimal index of the step, counting from zero.
	StepIndexLabel = "step-index"

	// AnalysisRunUIDLabel links a Job of a job metric, and the pods of that Job, to the AnalysisRun.
	AnalysisRunUIDLabel = "analysisrun.argoproj.io/uid"

	// PrimaryClusterLabel, set to "true", marks the Secret in the controller's namespace that holds the kubeconfig of the
	// cluster in which the Istio objects live.
	PrimaryClusterLabel = "istio.argoproj.io/primary-cluster"
)

// Values of RolloutTypeLabel.
const (
	// RolloutTypeStep is the analysis of a canary step.
	RolloutTypeStep = "Step"

	// RolloutTypeBackground is the analysis that runs during the whole update of a canary.
	RolloutTypeBackground = "Background"

	// RolloutTypePrePromotion is the analysis before a blue-green switch.
	RolloutTypePrePromotion = "PrePromotion"

	// RolloutTypePostPromotion is the analysis after a blue-green switch.
	RolloutTypePostPromotion = "PostPromotion"
)

// Annotations that the controller sets.
const (
	// RevisionAnnotation is on the Rollout, its ReplicaSets, AnalysisRuns and Experiments: the decimal revision.
	RevisionAnnotation = "rollout.argoproj.io/revision"

	// RevisionHistoryAnnotation is on a ReplicaSet that became current again: its earlier revisions, comma separated.
	RevisionHistoryAnnotation = "rollout.argoproj.io/revision-history"

	// DesiredReplicasAnnotation is on a ReplicaSet: the Rollout's spec.replicas when the ReplicaSet was last scaled.
	DesiredReplicasAnnotation = "rollout.argoproj.io/desired-replicas"

	// WorkloadGenerationAnnotation is on a Rollout with a workloadRef: the generation of the workload that was last read.
	WorkloadGenerationAnnotation = "rollout.argoproj.io/workload-generation"

	// EphemeralMetadataAnnotation is on a ReplicaSet: the labels and annotations that its pods have for the version's
	// current role, as JSON, so that only these are removed later.
	EphemeralMetadataAnnotation = "rollout.argoproj.io/ephemeral-metadata"

	// EphemeralMetadataPodsAnnotation is on the same ReplicaSet: the part of them that the running pods are known to have,
	// as JSON. While the two differ, the controller reads the pods. Argo Rollouts ignores it.
	EphemeralMetadataPodsAnnotation = "rollout.argoproj.io/ephemeral-metadata-pods"

	// ScaleDownDeadlineAnnotation is on a ReplicaSet that is kept for some time after it stopped serving: the time, in RFC
	// 3339 and UTC, from which it may be scaled to zero. The key has no domain, and never had one.
	ScaleDownDeadlineAnnotation = "scale-down-deadline"

	// ScaleDownDelayAnnotation accompanies ScaleDownDeadlineAnnotation: the field and the seconds that the deadline is
	// computed from, such as "canary.scaleDownDelaySeconds=30". An edit of that field moves the deadline. Argo Rollouts
	// ignores it.
	ScaleDownDelayAnnotation = "rollout.argoproj.io/scale-down-delay"

	// OvertakenAnnotation, set to "true", is on the ReplicaSet of an update that was superseded and may never have served: a
	// return to it within its delay passes the gates again. Argo Rollouts ignores it.
	OvertakenAnnotation = "rollout.argoproj.io/overtaken"

	// ReachedAnnotation, set to "true", is on the ReplicaSet of a version that the active Service selected although no
	// status says so, for example after an edit. If it is superseded, it keeps its pods for the delay. Argo Rollouts ignores
	// it.
	ReachedAnnotation = "rollout.argoproj.io/reached"

	// ManagedByAnnotation is on Services, DestinationRules and VirtualNodes: the name of the Rollout that manages them.
	ManagedByAnnotation = "argo-rollouts.argoproj.io/managed-by-rollouts"

	// RestartedAfterAnnotation is a legacy of early versions. It is never read, and kept where it exists.
	RestartedAfterAnnotation = "argo-rollouts.argoproj.io/restarted-after"

	// ExperimentNameAnnotation is on ReplicaSets and Services of an Experiment: the Experiment's name.
	ExperimentNameAnnotation = "experiment.argoproj.io/name"

	// ExperimentTemplateNameAnnotation is on ReplicaSets and Services of an Experiment: the name of their template.
	ExperimentTemplateNameAnnotation = "experiment.argoproj.io/template-name"

	// AnalysisRunNameAnnotation is on a Job of a job metric: the name of the AnalysisRun.
	AnalysisRunNameAnnotation = "analysisrun.argoproj.io/name"

	// AnalysisRunNamespaceAnnotation is on a Job of a job metric: the namespace of the AnalysisRun.
	AnalysisRunNamespaceAnnotation = "analysisrun.argoproj.io/namespace"

	// AnalysisRunMetricNameAnnotation is on a Job of a job metric: the name of the metric it measures.
	AnalysisRunMetricNameAnnotation = "analysisrun.argoproj.io/metric-name"

	// ManagedALBAnnotationsAnnotation is on an Ingress: which of its annotations belong to which Rollout, as a JSON object
	// of Rollout name to list of annotation keys.
	ManagedALBAnnotationsAnnotation = "rollouts.argoproj.io/managed-alb-annotations"

	// IstioNotesAnnotation is on a VirtualService while an update is in progress: what each Rollout has added to it, as
	// JSON, so that it can be removed later. Argo Rollouts ignores it.
	IstioNotesAnnotation = "rollouts.argoproj.io/istio-notes"

	// GatewayAPINotesAnnotation is on a route of the Gateway API while an update is in progress: what each Rollout has added
	// besides weights, as a JSON object by namespace/name of the Rollout, so that only that is removed later.
	GatewayAPINotesAnnotation = "rollouts.argoproj.io/gatewayapi-notes"

	// TraefikNotesAnnotation is on a TraefikService while an update is in progress: the stable and the canary Service of each Rollout, or its
	// entry among the mirrors, as a JSON object by NAMESPACE/NAME of the Rollout.
	TraefikNotesAnnotation = "rollouts.argoproj.io/traefik-notes"

	// ApisixNotesAnnotation is on an ApisixRoute while an update is in progress: the stable and the canary Service of each Rollout, and the rules
	// in which it sets their weights, as a JSON object by NAMESPACE/NAME of the Rollout.
	ApisixNotesAnnotation = "rollouts.argoproj.io/apisix-notes"

	// CustomNotesAnnotation is on an object of trafficRouting.custom: the rules and fields that each Rollout has added to it, and where its weights
	// are while the canary has any, as a JSON object by namespace/name of the Rollout, so that only these are removed or reset later.
	CustomNotesAnnotation = "rollouts.argoproj.io/custom-notes"

	// CustomRoutesLabel is on ClusterRoles whose rights the controller gets, if it is installed so: those on the kinds that
	// trafficRouting.custom may name. The administrator sets it to "true".
	CustomRoutesLabel = "rollouts.argoproj.io/aggregate-to-custom-routes"

	// RoutesElsewhereAnnotation is on a Rollout: the routes in other namespaces that it has changed, as kind/namespace/name,
	// comma separated.
	RoutesElsewhereAnnotation = "rollouts.argoproj.io/routes-elsewhere"

	// PluginRoutesAnnotation is on a Rollout: the traffic router plugins that have split its traffic, each with what it needs to return it, as
	// JSON.
	PluginRoutesAnnotation = "rollouts.argoproj.io/plugin-routes"

	// RolloutNamespacesAnnotation is on a route: the namespaces, other than its own, whose Rollouts may split its traffic;
	// comma separated, "*" for all. The route's owner sets it.
	RolloutNamespacesAnnotation = "rollouts.argoproj.io/allowed-rollout-namespaces"

	// LintIgnoreAnnotation is on an object of any kind: the rules of sluice lint to skip for it, and why, as "rule, rule --
	// reason". The object's owner sets it.
	LintIgnoreAnnotation = "rollouts.argoproj.io/lint-ignore"

	// NginxAnnotationsAnnotation is on a canary Ingress: the keys of the annotations that the spec requested, as a JSON
	// list, so that only these are removed later.
	NginxAnnotationsAnnotation = "rollouts.argoproj.io/managed-nginx-annotations"

	// NotificationSubscribePrefix starts the annotations by which a user subscribes to notifications:
	// notifications.argoproj.io/subscribe.<trigger>.<service>.
	NotificationSubscribePrefix = "notifications.argoproj.io/subscribe."

	// NotifiedAnnotation records which notifications have been sent.
	NotifiedAnnotation = "notified.notifications.argoproj.io"
)

// Objects that the controller looks for by name in its own namespace.
const (
	// ConfigMapName is the ConfigMap that lists the plugins.
	ConfigMapName = "argo-rollouts-config"

	// NotificationConfigMapName is the ConfigMap with notification triggers, templates and services.
	NotificationConfigMapName = "argo-rollouts-notification-configmap"

	// NotificationSecretName is the Secret with the credentials of notification services.
	NotificationSecretName = "argo-rollouts-notification-secret"

	// LeaseName is the Lease for leader election; controllers with an instance id append "-<instance id>".
	LeaseName = "argo-rollouts-controller-lock"

	// EventSource is the component that reports the events.
	EventSource = "rollouts-controller"

	// DashboardEventSource is the component that reports what users do in the dashboard.
	DashboardEventSource = "sluice-dashboard"

	// CLIEventSource is the component that reports what users do with the CLI.
	CLIEventSource = "sluice-cli"
)

// GatewayAPIPluginName is the key under trafficRouting.plugins whose settings the native Gateway API router also reads.
const GatewayAPIPluginName = "argoproj-labs/gatewayAPI"

// Default values of fields.
const (
	// DefaultReplicas is spec.replicas.
	DefaultReplicas int32 = 1
	// DefaultRevisionHistoryLimit is spec.revisionHistoryLimit.
	DefaultRevisionHistoryLimit int32 = 10
	// DefaultRunHistoryLimit is spec.analysis.successfulRunHistoryLimit and unsuccessfulRunHistoryLimit.
	DefaultRunHistoryLimit int32 = 5
	// DefaultMaxSurge is maxSurge of a canary.
	DefaultMaxSurge = "25%"
	// DefaultMaxUnavailable is maxUnavailable of a canary.
	DefaultMaxUnavailable = "25%"
	// DefaultBlueGreenMaxUnavailable is maxUnavailable of a blue-green rollout: the full number of pods always serves.
	DefaultBlueGreenMaxUnavailable = "0%"
	// DefaultProgressDeadlineSeconds is progressDeadlineSeconds of Rollouts and Experiments.
	DefaultProgressDeadlineSeconds int32 = 600
	// DefaultScaleDownDelaySeconds is scaleDownDelaySeconds of blue-green updates, routed canaries and Experiments.
	DefaultScaleDownDelaySeconds int32 = 30
	// DefaultAbortScaleDownDelaySeconds is abortScaleDownDelaySeconds.
	DefaultAbortScaleDownDelaySeconds int32 = 30
	// DefaultMaxTrafficWeight is trafficRouting.maxTrafficWeight.
	DefaultMaxTrafficWeight int32 = 100
	// LargestMaxTrafficWeight is the most that trafficRouting.maxTrafficWeight can be: the largest weight of a backendRef of the Gateway API.
	LargestMaxTrafficWeight int32 = 1_000_000
	// DefaultMirrorPercentage is setMirrorRoute.percentage.
	DefaultMirrorPercentage int32 = 100
	// DefaultConsecutiveErrorLimit is consecutiveErrorLimit of a metric.
	DefaultConsecutiveErrorLimit int32 = 4
	// DefaultMeasurementRetention is how many measurements of a metric an AnalysisRun keeps.
	DefaultMeasurementRetention int32 = 10
	// MaxTimeoutSeconds is the longest timeout of a measurement.
	MaxTimeoutSeconds = 60
	// MaxMeasurementRetention is how many measurements of a metric an AnalysisRun keeps at most.
	MaxMeasurementRetention int32 = 1000
	// DefaultExperimentReplicas is replicas of a template of an Experiment.
	DefaultExperimentReplicas int32 = 1
	// DefaultNginxAnnotationPrefix is trafficRouting.nginx.annotationPrefix.
	DefaultNginxAnnotationPrefix = "nginx.ingress.kubernetes.io"
	// DefaultInProgressLabelKey is inProgressLabelKey of trafficRouting.gatewayAPI, and of the plugin.
	DefaultInProgressLabelKey = "rollouts.argoproj.io/gatewayapi-canary"
	// DefaultInProgressLabelValue is inProgressLabelValue of trafficRouting.gatewayAPI, and of the plugin.
	DefaultInProgressLabelValue = "in-progress"
	// DefaultALBAnnotationPrefix is trafficRouting.alb.annotationPrefix.
	DefaultALBAnnotationPrefix = "alb.ingress.kubernetes.io"
)
