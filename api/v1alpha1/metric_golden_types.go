package v1alpha1

// GoldenSignal is a signal that every supported router measures for each service.
type GoldenSignal string

// The golden signals.
const (
	// GoldenRequestSuccessRate is the share of requests that do not fail with a 5xx, from 0 to 1.
	GoldenRequestSuccessRate GoldenSignal = "requestSuccessRate"
	// GoldenRequestDurationP50 is the median of the durations of requests, in seconds. The others are higher quantiles.
	GoldenRequestDurationP50 GoldenSignal = "requestDurationP50"
	GoldenRequestDurationP95 GoldenSignal = "requestDurationP95"
	GoldenRequestDurationP99 GoldenSignal = "requestDurationP99"
)

// GoldenRouter is the router whose metrics are queried.
type GoldenRouter string

// The routers for which there are queries.
const (
	GoldenIstio   GoldenRouter = "istio"
	GoldenLinkerd GoldenRouter = "linkerd"
	GoldenNginx   GoldenRouter = "nginx"
	GoldenTraefik GoldenRouter = "traefik"
	GoldenContour GoldenRouter = "contour"
)

// GoldenTarget is the router and the Services to measure. Fields that are left out are taken from the Rollout.
type GoldenTarget struct {
	// Router whose metrics to query: istio, linkerd, nginx, traefik or contour. Defaults to the router of the Rollout, if it
	// is istio, nginx or traefik. With gatewayAPI, set it to the implementation.
	// +optional
	// +kubebuilder:validation:Enum=istio;linkerd;nginx;traefik;contour
	Router GoldenRouter `json:"router,omitempty"`

	// Namespace of the Services. Defaults to the Rollout's namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`

	// The canary's Service, or for linkerd its pod template hash. Defaults to canaryService, previewService or the hash from
	// the Rollout.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Canary string `json:"canary,omitempty"`

	// The stable version's Service, or for linkerd its pod template hash. Defaults to stableService, activeService or the
	// hash from the Rollout.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Stable string `json:"stable,omitempty"`

	// The stable Ingress. For nginx only. Defaults to the first one of the Rollout.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Ingress string `json:"ingress,omitempty"`
}
