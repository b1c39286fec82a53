package v1alpha1

// GoldenSignal is something that every router measures of a service.
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

// GoldenRouter is whose metrics are asked for.
type GoldenRouter string

// The routers for which there are queries.
const (
	GoldenIstio   GoldenRouter = "istio"
	GoldenLinkerd GoldenRouter = "linkerd"
	GoldenNginx   GoldenRouter = "nginx"
	GoldenTraefik GoldenRouter = "traefik"
	GoldenContour GoldenRouter = "contour"
)

// GoldenTarget is what a golden signal is measured of. What is left out is taken from the Rollout.
type GoldenTarget struct {
	// Whose metrics to ask for: istio, linkerd, nginx, traefik or contour. Defaults to the router of the Rollout, if it is istio, nginx or
	// traefik. With gatewayAPI, set the implementation.
	// +optional
	// +kubebuilder:validation:Enum=istio;linkerd;nginx;traefik;contour
	Router GoldenRouter `json:"router,omitempty"`

	// Namespace of the Services. Defaults to that of the Rollout.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`

	// The canary's Service; for linkerd, the hash of its pods. Defaults to canaryService, previewService or the hash of the Rollout.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Canary string `json:"canary,omitempty"`

	// The stable version's Service; for linkerd, the hash of its pods. Defaults to stableService, activeService or the hash of the Rollout.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Stable string `json:"stable,omitempty"`

	// The stable Ingress, for nginx. Defaults to the first one of the Rollout.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Ingress string `json:"ingress,omitempty"`
}
