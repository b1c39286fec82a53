package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutTrafficRouting configures the traffic routers that split traffic between the versions. You can set several; all of them get
// the same weights.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.maxTrafficWeight) || has(self.nginx) || has(self.plugins)`,message=`maxTrafficWeight works with nginx and plugins only: remove it, and give setWeight in percent`,fieldPath=`.maxTrafficWeight`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!has(self.sessionAffinity) || !(has(self.nginx) || has(self.alb) || has(self.smi) || has(self.ambassador) || has(self.appMesh) || has(self.traefik) || has(self.apisix) || has(self.custom))`,message=`sessionAffinity works with istio and gatewayAPI only, other routers cannot keep clients on a version: remove sessionAffinity, or use istio or gatewayAPI`,fieldPath=`.sessionAffinity`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!has(self.sessionAffinity) || !has(self.gatewayAPI) || !(has(self.gatewayAPI.grpcRoute) || has(self.gatewayAPI.grpcRoutes) || has(self.gatewayAPI.grpcRouteSelector) || has(self.gatewayAPI.tcpRoute) || has(self.gatewayAPI.tcpRoutes) || has(self.gatewayAPI.tcpRouteSelector) || has(self.gatewayAPI.tlsRoute) || has(self.gatewayAPI.tlsRoutes) || has(self.gatewayAPI.tlsRouteSelector))`,message=`sessionAffinity works with HTTPRoutes only, not with other routes: remove sessionAffinity, or name HTTPRoutes only`,fieldPath=`.sessionAffinity`,reason=FieldValueForbidden
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

	// Not supported: AWS App Mesh ended on 30 September 2026. Use gatewayAPI, for instance with Amazon VPC Lattice, or istio.
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

	// Splits traffic in objects of any other kind that lists Services with weights, such as Contour's HTTPProxy: expressions say where in the
	// object the weights are.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	Custom []CustomTrafficRouting `json:"custom,omitempty"`

	// Traffic router plugins: the name of each, as in the ConfigMap argo-rollouts-config, and its settings in the format that the
	// plugin defines.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Plugins map[string]json.RawMessage `json:"plugins,omitempty"`

	// Routes that setHeaderRoute and setMirrorRoute steps may add and remove, in order of precedence. They are placed before all other
	// routes and removed when the update ends.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule=`self.all(a, self.exists_one(b, b.name == a.name))`,message=`every name in managedRoutes must be listed once only`
	ManagedRoutes []ManagedRoute `json:"managedRoutes,omitempty"`

	// Keeps each client on the version that served it first, by a cookie, while an update splits the traffic. For istio, and for HTTPRoutes of
	// gatewayAPI. Not with dynamicStableScale or setMirrorRoute.
	// +optional
	SessionAffinity *SessionAffinity `json:"sessionAffinity,omitempty"`

	// The weight that stands for all traffic in setWeight, at most 1000000. Defaults to 100, so that weights are percentages. For nginx
	// and plugins only.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule=`self <= 1000000`,message=`maxTrafficWeight must be 1000000 or less, the largest weight that routers can count to`
	MaxTrafficWeight *int32 `json:"maxTrafficWeight,omitempty"`
}

// SessionAffinity keeps clients on one version. New clients are split by weight.
type SessionAffinity struct {
	// Name of the cookie. Defaults to sluice- and the name of the Rollout.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]*$`
	CookieName string `json:"cookieName,omitempty"`

	// How long a client stays on its version before it is split by weight again. Defaults to 86400, a day. Promotion and abort end it earlier.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	MaxAgeSeconds *int32 `json:"maxAgeSeconds,omitempty"`
}

// ManagedRoute names a route that the controller adds and removes.
type ManagedRoute struct {
	// Name of the route.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// IstioTrafficRouting is which routes of Istio VirtualServices split the traffic, and whether they do so by host or by subset.
//
// +kubebuilder:validation:XValidation:rule=`has(self.virtualService) != (has(self.virtualServices) && size(self.virtualServices) > 0)`,message=`set exactly one of virtualService and virtualServices`
type IstioTrafficRouting struct {
	// The VirtualService whose routes split the traffic. Set this or virtualServices.
	// +optional
	VirtualService *IstioVirtualService `json:"virtualService,omitempty"`

	// The DestinationRule whose subsets are the versions. Without it, the hosts canaryService and stableService identify the versions.
	// +optional
	DestinationRule *IstioDestinationRule `json:"destinationRule,omitempty"`

	// Several VirtualServices whose routes split the traffic. Set this or virtualService.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	VirtualServices []IstioVirtualService `json:"virtualServices,omitempty"`
}

// IstioVirtualService is which routes of a VirtualService split the traffic.
type IstioVirtualService struct {
	// Name of the VirtualService, or name.namespace for one in another namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=320
	Name string `json:"name"`

	// Names of the HTTP routes to split. May be left out if there is only one route, or one without a name.
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
//
// +kubebuilder:validation:XValidation:rule=`self.canarySubsetName != self.stableSubsetName`,message=`canarySubsetName and stableSubsetName must be two different subsets`,fieldPath=`.canarySubsetName`
type IstioDestinationRule struct {
	// Name of the DestinationRule.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=320
	Name string `json:"name"`

	// Name of the subset that is the new version.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=320
	CanarySubsetName string `json:"canarySubsetName"`

	// Name of the subset that is the stable version.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=320
	StableSubsetName string `json:"stableSubsetName"`

	// Names of further subsets. They keep their current weight, and the stable version gets the rest.
	// +optional
	AdditionalSubsetNames []string `json:"additionalSubsetNames,omitempty"`
}

// NginxTrafficRouting splits traffic with a canary Ingress next to each stable one.
//
// +kubebuilder:validation:XValidation:rule=`(has(self.stableIngress) && size(self.stableIngress) > 0) != (has(self.stableIngresses) && size(self.stableIngresses) > 0)`,message=`set exactly one of stableIngress and stableIngresses`
type NginxTrafficRouting struct {
	// Prefix of the canary annotations. Defaults to nginx.ingress.kubernetes.io.
	// +optional
	AnnotationPrefix string `json:"annotationPrefix,omitempty"`

	// Name of the Ingress that routes to stableService. Set this or stableIngresses.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StableIngress string `json:"stableIngress,omitempty"`

	// Names of several Ingresses that route to stableService. Set this or stableIngress.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	StableIngresses []string `json:"stableIngresses,omitempty"`

	// Annotations to add to the canary Ingresses, such as canary-by-header. Keys without annotationPrefix get it as a prefix.
	// +optional
	AdditionalIngressAnnotations map[string]string `json:"additionalIngressAnnotations,omitempty"`

	// Annotations to add to the canary Ingresses as written. They take precedence over additionalIngressAnnotations.
	// +optional
	CanaryIngressAnnotations map[string]string `json:"canaryIngressAnnotations,omitempty"`
}

// ALBTrafficRouting splits traffic with the forward action in an annotation of Ingresses.
//
// +kubebuilder:validation:XValidation:rule=`(has(self.ingress) && size(self.ingress) > 0) != (has(self.ingresses) && size(self.ingresses) > 0)`,message=`set exactly one of ingress and ingresses`
type ALBTrafficRouting struct {
	// Name of the Ingress. Set this or ingresses.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Ingress string `json:"ingress,omitempty"`

	// Port of the Services that the Ingress routes to.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	ServicePort int32 `json:"servicePort"`

	// Name of the Service that the Ingress uses to refer to the action. Defaults to stableService.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	RootService string `json:"rootService,omitempty"`

	// Prefix of the annotations. Defaults to alb.ingress.kubernetes.io.
	// +optional
	AnnotationPrefix string `json:"annotationPrefix,omitempty"`

	// Keeps a client on the version that it reached first.
	// +optional
	StickinessConfig *StickinessConfig `json:"stickinessConfig,omitempty"`

	// Names of several Ingresses. Set this or ingress.
	// +optional
	Ingresses []string `json:"ingresses,omitempty"`
}

// StickinessConfig is whether a client stays on the version that it reached first, and for how long.
//
// +kubebuilder:validation:XValidation:rule=`!self.enabled || (self.durationSeconds >= 1 && self.durationSeconds <= 604800)`,message=`durationSeconds must be between 1 and 604800 (seven days)`,fieldPath=`.durationSeconds`
type StickinessConfig struct {
	// Whether clients stay on their version.
	Enabled bool `json:"enabled"`

	// Seconds that a client stays on its version, 1 to 604800 (seven days).
	DurationSeconds int64 `json:"durationSeconds"`
}

// SMITrafficRouting splits traffic with a TrafficSplit that the controller creates.
type SMITrafficRouting struct {
	// Name of the Service that clients use. Defaults to stableService.
	// +optional
	RootService string `json:"rootService,omitempty"`

	// Name of the TrafficSplit. Defaults to the Rollout's name.
	// +optional
	TrafficSplitName string `json:"trafficSplitName,omitempty"`
}

// AmbassadorTrafficRouting splits traffic with a canary Mapping next to each Mapping.
type AmbassadorTrafficRouting struct {
	// Names of the Mappings that route to stableService. None of them may set a weight.
	// +kubebuilder:validation:MinItems=1
	Mappings []string `json:"mappings"`
}

// AppMeshTrafficRouting splits traffic in the virtual router of an AWS App Mesh VirtualService.
//
// +kubebuilder:validation:XValidation:rule=`has(self.virtualService)`,message=`virtualService is required: the App Mesh VirtualService whose routes split the traffic`,fieldPath=`.virtualService`,reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule=`has(self.virtualNodeGroup)`,message=`virtualNodeGroup is required: the two VirtualNodes that stand for the canary and the stable version`,fieldPath=`.virtualNodeGroup`,reason=FieldValueRequired
type AppMeshTrafficRouting struct {
	// The VirtualService.
	// +optional
	VirtualService *AppMeshVirtualService `json:"virtualService,omitempty"`

	// The two VirtualNodes that represent the versions.
	// +optional
	VirtualNodeGroup *AppMeshVirtualNodeGroup `json:"virtualNodeGroup,omitempty"`
}

// AppMeshVirtualService is which routes split the traffic.
type AppMeshVirtualService struct {
	// Name of the VirtualService.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Names of the routes to split. Defaults to all.
	// +optional
	Routes []string `json:"routes,omitempty"`
}

// AppMeshVirtualNodeGroup is the two VirtualNodes that represent the versions.
type AppMeshVirtualNodeGroup struct {
	// The VirtualNode of the new version.
	CanaryVirtualNodeRef *AppMeshVirtualNodeReference `json:"canaryVirtualNodeRef"`

	// The VirtualNode of the stable version.
	StableVirtualNodeRef *AppMeshVirtualNodeReference `json:"stableVirtualNodeRef"`
}

// AppMeshVirtualNodeReference names a VirtualNode.
type AppMeshVirtualNodeReference struct {
	// Name of the VirtualNode.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// TraefikTrafficRouting splits traffic in a TraefikService.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.mirroringTraefikServiceName) || self.mirroringTraefikServiceName != self.weightedTraefikServiceName`,message=`name another TraefikService than weightedTraefikServiceName: one with spec.mirroring, which sends to the weighted one`,fieldPath=`.mirroringTraefikServiceName`
type TraefikTrafficRouting struct {
	// Name of the TraefikService whose weighted services include canaryService and stableService.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	WeightedTraefikServiceName string `json:"weightedTraefikServiceName"`

	// Name of the TraefikService whose spec.mirroring sends to the weighted one. Required by setMirrorRoute, which adds the canary to its mirrors.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	MirroringTraefikServiceName string `json:"mirroringTraefikServiceName,omitempty"`
}

// ApisixTrafficRouting splits traffic in an ApisixRoute.
//
// +kubebuilder:validation:XValidation:rule=`has(self.route)`,message=`route is required: the ApisixRoute whose rules split the traffic`,fieldPath=`.route`,reason=FieldValueRequired
type ApisixTrafficRouting struct {
	// The ApisixRoute.
	// +optional
	Route *ApisixRoute `json:"route,omitempty"`
}

// ApisixRoute is which rules of an ApisixRoute split the traffic.
type ApisixRoute struct {
	// Name of the ApisixRoute.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Names of the rules to split. Defaults to the rule with the same name as the ApisixRoute.
	// +optional
	Rules []string `json:"rules,omitempty"`
}

// GatewayAPITrafficRouting splits traffic with the weights of backendRefs in Gateway API routes. For each kind of route, set one name
// or a list. The fields have the same names as the settings of the Gateway API plugin.
//
// +kubebuilder:validation:XValidation:rule=`(has(self.httpRoute) && size(self.httpRoute) > 0) || (has(self.httpRoutes) && size(self.httpRoutes) > 0) || (has(self.grpcRoute) && size(self.grpcRoute) > 0) || (has(self.grpcRoutes) && size(self.grpcRoutes) > 0) || (has(self.tcpRoute) && size(self.tcpRoute) > 0) || (has(self.tcpRoutes) && size(self.tcpRoutes) > 0) || (has(self.tlsRoute) && size(self.tlsRoute) > 0) || (has(self.tlsRoutes) && size(self.tlsRoutes) > 0) || has(self.httpRouteSelector) || has(self.grpcRouteSelector) || has(self.tcpRouteSelector) || has(self.tlsRouteSelector)`,message=`name at least one route: httpRoute, grpcRoute, tcpRoute or tlsRoute, a list of several such as httpRoutes, or a selector such as httpRouteSelector`,reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule=`!((has(self.httpRoute) && size(self.httpRoute) > 0) && (has(self.httpRoutes) && size(self.httpRoutes) > 0))`,message=`set only one of httpRoute and httpRoutes`,fieldPath=`.httpRoutes`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!((has(self.grpcRoute) && size(self.grpcRoute) > 0) && (has(self.grpcRoutes) && size(self.grpcRoutes) > 0))`,message=`set only one of grpcRoute and grpcRoutes`,fieldPath=`.grpcRoutes`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!((has(self.tcpRoute) && size(self.tcpRoute) > 0) && (has(self.tcpRoutes) && size(self.tcpRoutes) > 0))`,message=`set only one of tcpRoute and tcpRoutes`,fieldPath=`.tcpRoutes`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!((has(self.tlsRoute) && size(self.tlsRoute) > 0) && (has(self.tlsRoutes) && size(self.tlsRoutes) > 0))`,message=`set only one of tlsRoute and tlsRoutes`,fieldPath=`.tlsRoutes`,reason=FieldValueForbidden
type GatewayAPITrafficRouting struct {
	// Name of one HTTPRoute. Set this or httpRoutes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	HTTPRoute string `json:"httpRoute,omitempty"`

	// HTTPRoutes to split.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	HTTPRoutes []GatewayAPIRoute `json:"httpRoutes,omitempty"`

	// Labels of HTTPRoutes to split, in the namespace of the Rollout. Routes that no longer have them are sent back to the stable Service.
	// +optional
	HTTPRouteSelector *metav1.LabelSelector `json:"httpRouteSelector,omitempty"`

	// Name of one GRPCRoute. Set this or grpcRoutes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	GRPCRoute string `json:"grpcRoute,omitempty"`

	// GRPCRoutes to split.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	GRPCRoutes []GatewayAPIRoute `json:"grpcRoutes,omitempty"`

	// Labels of GRPCRoutes to split, in the namespace of the Rollout. Routes that no longer have them are sent back to the stable Service.
	// +optional
	GRPCRouteSelector *metav1.LabelSelector `json:"grpcRouteSelector,omitempty"`

	// Name of one TCPRoute. Set this or tcpRoutes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	TCPRoute string `json:"tcpRoute,omitempty"`

	// TCPRoutes to split.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	TCPRoutes []GatewayAPIRoute `json:"tcpRoutes,omitempty"`

	// Labels of TCPRoutes to split, in the namespace of the Rollout. Routes that no longer have them are sent back to the stable Service.
	// +optional
	TCPRouteSelector *metav1.LabelSelector `json:"tcpRouteSelector,omitempty"`

	// Name of one TLSRoute. Set this or tlsRoutes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	TLSRoute string `json:"tlsRoute,omitempty"`

	// TLSRoutes to split.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	TLSRoutes []GatewayAPIRoute `json:"tlsRoutes,omitempty"`

	// Labels of TLSRoutes to split, in the namespace of the Rollout. Routes that no longer have them are sent back to the stable Service.
	// +optional
	TLSRouteSelector *metav1.LabelSelector `json:"tlsRouteSelector,omitempty"`

	// Namespace of the routes. Defaults to the Rollout's namespace. Another namespace needs permission: the controller's flag
	// --gateway-route-namespaces, or the annotation rollouts.argoproj.io/allowed-rollout-namespaces on the route.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the ConfigMap in which the Gateway API plugin recorded the rules it added. The controller reads it to clean up after the
	// plugin and never writes it.
	// +optional
	ConfigMap string `json:"configMap,omitempty"`

	// Whether to leave out the label that marks routes while an update is in progress. Defaults to false.
	// +optional
	DisableInProgressLabel bool `json:"disableInProgressLabel,omitempty"`

	// Key of the label that marks routes while an update is in progress. The controller never changes a label that it did not add.
	// +optional
	InProgressLabelKey string `json:"inProgressLabelKey,omitempty"`

	// Value of the label that marks routes while an update is in progress.
	// +optional
	InProgressLabelValue string `json:"inProgressLabelValue,omitempty"`
}

// GatewayAPIRoute is one route to split.
type GatewayAPIRoute struct {
	// Name of the route.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Whether setHeaderRoute steps add rules to this route. For HTTPRoutes and GRPCRoutes only. Defaults to false.
	// +optional
	UseHeaderRoutes bool `json:"useHeaderRoutes,omitempty"`
}

// CustomTrafficRouting splits traffic in one object of a kind that no other router knows. Only fields below spec are written.
type CustomTrafficRouting struct {
	// API version of the object, such as projectcontour.io/v1. Kinds of Kubernetes itself and those of the other routers are rejected.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`

	// Kind of the object, such as HTTPProxy. Its objects must be in namespaces.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace of the object. Defaults to the namespace of the Rollout. An object in another namespace can be used if its owner allows
	// it by annotation or ReferenceGrant, or the controller by flag, as for the routes of the Gateway API.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Where the object has the weights. All of these places get the same weights.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	Weights []CustomWeights `json:"weights"`

	// How the object routes by header. Required for setHeaderRoute steps.
	// +optional
	HeaderRoutes *CustomHeaderRoutes `json:"headerRoutes,omitempty"`

	// Further fields that depend on the versions, such as a label with the hash of the pod template.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	Fields []CustomField `json:"fields,omitempty"`
}

// CustomWeights is where an object has weights: in lists of destinations, or in a field of its own.
//
// +kubebuilder:validation:XValidation:rule=`has(self.destinations) != has(self.canaryWeight)`,message=`set exactly one of destinations and canaryWeight`
// +kubebuilder:validation:XValidation:rule=`has(self.destinations) == has(self.service)`,message=`service is required with destinations, and only then: a CEL expression for the name of the Service that the variable entry leads to`
type CustomWeights struct {
	// Path of lists of destinations, such as spec.routes[*].services, where [*] stands for every entry of a list. Lists that have a
	// destination for both Services get the weights. Other lists and other destinations stay as they are.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Destinations string `json:"destinations,omitempty"`

	// CEL expression for the name of the Service that a destination leads to, such as entry.name. Variables: entry is the destination,
	// object the whole object, stable and canary have the fields service and hash. Empty text and null mean none of the two Services.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Service string `json:"service,omitempty"`

	// Path of the weight in a destination. Defaults to weight.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Weight string `json:"weight,omitempty"`

	// Path of a field that has the canary's weight, in percent, where the object has no lists of destinations.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	CanaryWeight string `json:"canaryWeight,omitempty"`

	// Path of a field that has the stable version's weight, if there is one. Only with canaryWeight.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StableWeight string `json:"stableWeight,omitempty"`
}

// CustomHeaderRoutes is how an object routes by header. For each rule that has destinations for both Services, and each match of a
// setHeaderRoute step, a copy of the rule that leads to the canary only is placed before all other rules of the list.
type CustomHeaderRoutes struct {
	// Path of the lists of rules, such as spec.routes. The path of destinations must lead through it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Rules string `json:"rules"`

	// CEL expression for a map with the fields of the copy that differ from the rule. Variables: rule is the rule that is copied; header
	// has the fields name, kind (exact, prefix or regex), value, and regex, a regular expression for the same values; route is the name in
	// managedRoutes; object, stable and canary as in weights.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Rule string `json:"rule"`
}

// CustomField is a field that the controller sets while the Rollout names the object. It is removed afterwards.
type CustomField struct {
	// Path of the field, such as spec.subsets[*].labels.rollouts-pod-template-hash.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Path string `json:"path"`

	// CEL expression for the value: a text, a number or a bool. Empty text removes the field, null leaves it as it is. Variables: entry is the
	// innermost entry of a list on the path, if there is one; object, stable and canary as in weights.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Value string `json:"value"`
}
