package v1alpha1

import "encoding/json"

// RolloutTrafficRouting is the traffic routers that split traffic between the versions. Several may be set; each of them is
// brought to the same weights.
type RolloutTrafficRouting struct {
	// Splits traffic in Istio VirtualServices.
	// +optional
	Istio *IstioTrafficRouting `json:"istio,omitempty"`

	// Splits traffic with canary Ingresses of ingress-nginx.
	// +optional
	Nginx *NginxTrafficRouting `json:"nginx,omitempty"`

	// Splits traffic in Ingresses of the AWS Load Balancer Controller.
	// +optional
	ALB *ALBTrafficRouting `json:"alb,omitempty"`

	// Splits traffic with a TrafficSplit of the Service Mesh Interface.
	// +optional
	SMI *SMITrafficRouting `json:"smi,omitempty"`

	// Splits traffic with canary Mappings of Ambassador (Emissary).
	// +optional
	Ambassador *AmbassadorTrafficRouting `json:"ambassador,omitempty"`

	// Splits traffic in the virtual router of AWS App Mesh.
	// +optional
	AppMesh *AppMeshTrafficRouting `json:"appMesh,omitempty"`

	// Splits traffic in a TraefikService.
	// +optional
	Traefik *TraefikTrafficRouting `json:"traefik,omitempty"`

	// Splits traffic in an ApisixRoute.
	// +optional
	Apisix *ApisixTrafficRouting `json:"apisix,omitempty"`

	// Splits traffic in routes of the Kubernetes Gateway API. Also read from plugins["argoproj-labs/gatewayAPI"].
	// +optional
	GatewayAPI *GatewayAPITrafficRouting `json:"gatewayAPI,omitempty"`

	// Traffic router plugins: the name of each, as in the ConfigMap argo-rollouts-config, and its settings in its own form.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Plugins map[string]json.RawMessage `json:"plugins,omitempty"`

	// Routes that setHeaderRoute and setMirrorRoute steps may add and remove, the first having precedence. They are placed
	// before all other routes and removed when the update ends.
	// +optional
	ManagedRoutes []ManagedRoute `json:"managedRoutes,omitempty"`

	// What setWeight counts up to. Defaults to 100: percent. Can be set for nginx and plugins only.
	// +optional
	MaxTrafficWeight *int32 `json:"maxTrafficWeight,omitempty"`
}

// ManagedRoute names a route that the controller adds and removes.
type ManagedRoute struct {
	// Name of the route.
	Name string `json:"name"`
}

// IstioTrafficRouting is which routes of Istio VirtualServices split the traffic, and whether they do by host or by subset.
type IstioTrafficRouting struct {
	// The VirtualService whose routes split the traffic. Give this or virtualServices.
	// +optional
	VirtualService *IstioVirtualService `json:"virtualService,omitempty"`

	// The DestinationRule whose subsets are the versions. Without it, versions are told apart by the hosts canaryService and
	// stableService.
	// +optional
	DestinationRule *IstioDestinationRule `json:"destinationRule,omitempty"`

	// Several VirtualServices whose routes split the traffic. Give this or virtualService.
	// +optional
	VirtualServices []IstioVirtualService `json:"virtualServices,omitempty"`
}

// IstioVirtualService is which routes of a VirtualService split the traffic.
type IstioVirtualService struct {
	// Name of the VirtualService; name.namespace for one in another namespace.
	Name string `json:"name"`

	// Names of the HTTP routes to split. May be left out when there is only one, or one without a name.
	// +optional
	Routes []string `json:"routes,omitempty"`

	// TLS routes to split.
	// +optional
	TLSRoutes []TLSRoute `json:"tlsRoutes,omitempty"`

	// TCP routes to split.
	// +optional
	TCPRoutes []TCPRoute `json:"tcpRoutes,omitempty"`
}

// TLSRoute finds a TLS route in a VirtualService by its port, its SNI hosts, or both.
type TLSRoute struct {
	// Port that the route matches.
	// +optional
	Port int64 `json:"port,omitempty"`

	// SNI hosts that the route matches.
	// +optional
	SNIHosts []string `json:"sniHosts,omitempty"`
}

// TCPRoute finds a TCP route in a VirtualService by its port.
type TCPRoute struct {
	// Port that the route matches.
	// +optional
	Port int64 `json:"port,omitempty"`
}

// IstioDestinationRule is which subsets of a DestinationRule are the versions.
type IstioDestinationRule struct {
	// Name of the DestinationRule.
	Name string `json:"name"`

	// Name of the subset that is the new version.
	CanarySubsetName string `json:"canarySubsetName"`

	// Name of the subset that is the stable version.
	StableSubsetName string `json:"stableSubsetName"`

	// Names of further subsets, which keep the weight that they have; the stable version gets the rest.
	// +optional
	AdditionalSubsetNames []string `json:"additionalSubsetNames,omitempty"`
}

// NginxTrafficRouting splits traffic with a canary Ingress beside each stable one.
type NginxTrafficRouting struct {
	// Prefix of the canary annotations. Defaults to nginx.ingress.kubernetes.io.
	// +optional
	AnnotationPrefix string `json:"annotationPrefix,omitempty"`

	// Name of the Ingress that routes to stableService. Give this or stableIngresses.
	// +optional
	StableIngress string `json:"stableIngress,omitempty"`

	// Names of several Ingresses that route to stableService. Give this or stableIngress.
	// +optional
	StableIngresses []string `json:"stableIngresses,omitempty"`

	// Annotations to add to the canary Ingresses, with annotationPrefix put before keys that lack it; for instance
	// canary-by-header.
	// +optional
	AdditionalIngressAnnotations map[string]string `json:"additionalIngressAnnotations,omitempty"`

	// Annotations to add to the canary Ingresses as they are. They win over additionalIngressAnnotations.
	// +optional
	CanaryIngressAnnotations map[string]string `json:"canaryIngressAnnotations,omitempty"`
}

// ALBTrafficRouting splits traffic by the forward action in an annotation of Ingresses.
type ALBTrafficRouting struct {
	// Name of the Ingress. Give this or ingresses.
	// +optional
	Ingress string `json:"ingress,omitempty"`

	// Port of the Services that the Ingress routes to.
	ServicePort int32 `json:"servicePort"`

	// Name of the Service by which the Ingress refers to the action. Defaults to stableService.
	// +optional
	RootService string `json:"rootService,omitempty"`

	// Prefix of the annotations. Defaults to alb.ingress.kubernetes.io.
	// +optional
	AnnotationPrefix string `json:"annotationPrefix,omitempty"`

	// Keeps a client with the version that it met first.
	// +optional
	StickinessConfig *StickinessConfig `json:"stickinessConfig,omitempty"`

	// Names of several Ingresses. Give this or ingress.
	// +optional
	Ingresses []string `json:"ingresses,omitempty"`
}

// StickinessConfig is whether and how long a client stays with the version that it met first.
type StickinessConfig struct {
	// Whether clients stay.
	Enabled bool `json:"enabled"`

	// Seconds that they stay, 1 to 604800 (seven days).
	DurationSeconds int64 `json:"durationSeconds"`
}

// SMITrafficRouting splits traffic with a TrafficSplit that the controller makes.
type SMITrafficRouting struct {
	// Name of the Service that clients use. Defaults to stableService.
	// +optional
	RootService string `json:"rootService,omitempty"`

	// Name of the TrafficSplit. Defaults to the Rollout's name.
	// +optional
	TrafficSplitName string `json:"trafficSplitName,omitempty"`
}

// AmbassadorTrafficRouting splits traffic with a canary Mapping beside each Mapping.
type AmbassadorTrafficRouting struct {
	// Names of the Mappings that route to stableService. None of them may set a weight.
	Mappings []string `json:"mappings"`
}

// AppMeshTrafficRouting splits traffic in the virtual router behind a VirtualService of AWS App Mesh.
type AppMeshTrafficRouting struct {
	// The VirtualService.
	// +optional
	VirtualService *AppMeshVirtualService `json:"virtualService,omitempty"`

	// The two VirtualNodes that stand for the versions.
	// +optional
	VirtualNodeGroup *AppMeshVirtualNodeGroup `json:"virtualNodeGroup,omitempty"`
}

// AppMeshVirtualService is which routes split the traffic.
type AppMeshVirtualService struct {
	// Name of the VirtualService.
	Name string `json:"name"`

	// Names of the routes to split. Defaults to all.
	// +optional
	Routes []string `json:"routes,omitempty"`
}

// AppMeshVirtualNodeGroup is the two VirtualNodes that stand for the versions.
type AppMeshVirtualNodeGroup struct {
	// The VirtualNode of the new version.
	CanaryVirtualNodeRef *AppMeshVirtualNodeReference `json:"canaryVirtualNodeRef"`

	// The VirtualNode of the stable version.
	StableVirtualNodeRef *AppMeshVirtualNodeReference `json:"stableVirtualNodeRef"`
}

// AppMeshVirtualNodeReference names a VirtualNode.
type AppMeshVirtualNodeReference struct {
	// Name of the VirtualNode.
	Name string `json:"name"`
}

// TraefikTrafficRouting splits traffic in a TraefikService.
type TraefikTrafficRouting struct {
	// Name of the TraefikService whose weighted services include canaryService and stableService.
	WeightedTraefikServiceName string `json:"weightedTraefikServiceName"`
}

// ApisixTrafficRouting splits traffic in an ApisixRoute.
type ApisixTrafficRouting struct {
	// The ApisixRoute.
	// +optional
	Route *ApisixRoute `json:"route,omitempty"`
}

// ApisixRoute is which rules of an ApisixRoute split the traffic.
type ApisixRoute struct {
	// Name of the ApisixRoute.
	Name string `json:"name"`

	// Names of the rules to split. Defaults to all.
	// +optional
	Rules []string `json:"rules,omitempty"`
}

// GatewayAPITrafficRouting splits traffic by the weights of backendRefs in routes of the Gateway API. Each kind of route can
// be given by one name or by a list. The fields are those of the Gateway API plugin's settings.
type GatewayAPITrafficRouting struct {
	// Name of one HTTPRoute. Give this or httpRoutes.
	// +optional
	HTTPRoute string `json:"httpRoute,omitempty"`

	// HTTPRoutes to split.
	// +optional
	HTTPRoutes []GatewayAPIRoute `json:"httpRoutes,omitempty"`

	// Name of one GRPCRoute. Give this or grpcRoutes.
	// +optional
	GRPCRoute string `json:"grpcRoute,omitempty"`

	// GRPCRoutes to split.
	// +optional
	GRPCRoutes []GatewayAPIRoute `json:"grpcRoutes,omitempty"`

	// Name of one TCPRoute. Give this or tcpRoutes.
	// +optional
	TCPRoute string `json:"tcpRoute,omitempty"`

	// TCPRoutes to split.
	// +optional
	TCPRoutes []GatewayAPIRoute `json:"tcpRoutes,omitempty"`

	// Name of one TLSRoute. Give this or tlsRoutes.
	// +optional
	TLSRoute string `json:"tlsRoute,omitempty"`

	// TLSRoutes to split.
	// +optional
	TLSRoutes []GatewayAPIRoute `json:"tlsRoutes,omitempty"`

	// Namespace of the routes. Defaults to the Rollout's.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the ConfigMap in which the plugin noted the rules it added. Read to clean up after the plugin; not written.
	// +optional
	ConfigMap string `json:"configMap,omitempty"`

	// Whether routes are left without the label that marks an update in progress. Defaults to false.
	// +optional
	DisableInProgressLabel bool `json:"disableInProgressLabel,omitempty"`

	// Key of the label that marks routes while an update is in progress.
	// +optional
	InProgressLabelKey string `json:"inProgressLabelKey,omitempty"`

	// Value of the label that marks routes while an update is in progress.
	// +optional
	InProgressLabelValue string `json:"inProgressLabelValue,omitempty"`
}

// GatewayAPIRoute is one route to split.
type GatewayAPIRoute struct {
	// Name of the route.
	Name string `json:"name"`

	// Whether setHeaderRoute steps add rules to this route. For HTTPRoutes and GRPCRoutes only. Defaults to false.
	// +optional
	UseHeaderRoutes bool `json:"useHeaderRoutes,omitempty"`
}
