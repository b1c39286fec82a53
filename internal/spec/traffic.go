package spec

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Traffic is how traffic is split apart from the share of the pods.
type Traffic struct {
	// Routers split it; each is brought to the same weights. At least one.
	Routers []Router
	// ManagedRoutes are the names of routes that steps may add, the first having precedence.
	ManagedRoutes []string
	// ScaleDownDelay is how long a version keeps its pods after its traffic has moved away.
	ScaleDownDelay time.Duration
	// ScaleDownDelayRevisionLimit is how many versions keep theirs at most.
	ScaleDownDelayRevisionLimit int
	// AbortScaleDownDelay is how long the new version keeps its pods after an abort, if AbortScaleDown; otherwise they stay.
	AbortScaleDownDelay time.Duration
	AbortScaleDown      bool
	// AbortDelaySet: the spec itself sets the delay, and so wants the canary kept as it is during an abort.
	AbortDelaySet bool
	// DynamicStableScale lets the stable version shrink as its traffic does.
	DynamicStableScale bool
	// MinPods is the least number of pods of a version that gets any traffic, at most the Rollout's replicas.
	MinPods int32
	// EnforceMaxSurge limits the pods of all versions to the Rollout's replicas and maxSurge.
	EnforceMaxSurge bool
}

// Router is one traffic router as the spec sets it up, such as [GatewayAPI] or [Nginx].
//
//sumtype:decl
type Router interface{ isRouter() }

// GatewayAPI splits traffic in routes of the Kubernetes Gateway API.
type GatewayAPI struct {
	// Field is where the spec sets the router up.
	Field string
	// Namespace of the routes.
	Namespace string
	Routes    []GatewayRoute
	// Selectors find further routes by their labels, in the Rollout's namespace.
	Selectors []GatewaySelector
	// RulesByName: rules with the names of managed routes are the plugin's, which adds them under these names.
	RulesByName bool
	// InProgressLabel marks routes during an update; empty key: it does not.
	InProgressKey, InProgressValue string
	// ConfigMap in which the plugin noted the rules that it added; empty for none.
	ConfigMap string
	// Plugin is what the plugin's binary would be asked for, where the spec names that: see [Policy.GatewayAPIBinary].
	Plugin Plugin
	// Sessions keep clients on a version; without a cookie they do not.
	Sessions Sessions
}

// GatewayRoute is one route to split.
type GatewayRoute struct {
	// Field of the spec that names it.
	Field string
	// Kind is HTTPRoute, GRPCRoute, TCPRoute or TLSRoute.
	Kind string
	Name string
	// Managed: setHeaderRoute and setMirrorRoute steps add rules to it.
	Managed bool
}

// GatewaySelector is routes of one kind that have certain labels.
type GatewaySelector struct {
	// Field of the spec that has it.
	Field string
	// Kind is that of a [GatewayRoute], as Managed is.
	Kind    string
	Labels  *metav1.LabelSelector
	Managed bool
}

// Nginx splits traffic with a canary Ingress beside each stable one.
type Nginx struct {
	// Field is where the spec sets the router up.
	Field string
	// StableIngresses route to the stable Service.
	StableIngresses []NginxIngress
	// Prefix of the canary annotations.
	Prefix string
	// Annotations are those that the spec adds to the canary Ingresses, keys complete.
	Annotations map[string]string
	// MaxWeight is what the spec sets maxTrafficWeight to, 0 if it does not.
	MaxWeight int32
}

// NginxIngress is an Ingress that routes to the stable Service.
type NginxIngress struct {
	// Field of the spec that names it.
	Field string
	Name  string
}

// Traefik splits traffic by the weights in a TraefikService.
type Traefik struct {
	// Field is where the spec sets the router up, ServiceField where it names the TraefikService.
	Field, ServiceField string
	// Service is the name of the TraefikService.
	Service string
	// Mirroring is the name of the TraefikService in front of it whose mirrors get copies, empty for none. MirroringField is where the spec names it.
	Mirroring, MirroringField string
}

// ALB splits traffic by the actions in annotations of Ingresses of the AWS Load Balancer Controller.
type ALB struct {
	// Field is where the spec sets the router up.
	Field     string
	Ingresses []NamedObject
	// Port of the Services.
	Port int32
	// RootService is by whose name the Ingresses refer to the action; empty for the stable Service.
	RootService string
	// Prefix of the annotations.
	Prefix string
	// StickySeconds is how long a client stays with a version, 0 for not at all.
	StickySeconds int64
}

// Apisix splits traffic by the weights of backends in an ApisixRoute.
type Apisix struct {
	// Field is where the spec sets the router up, RouteField where it names the ApisixRoute.
	Field, RouteField string
	// Route is the name of the ApisixRoute.
	Route string
	// Rules are the names of those of its rules that split; none for the one that is called as the ApisixRoute is.
	Rules []string
	// Managed are the names of managed routes, each of which becomes an ApisixRoute.
	Managed []string
}

// SMI splits traffic by a TrafficSplit of the Service Mesh Interface.
type SMI struct {
	// Field is where the spec sets the router up, NameField where it names the TrafficSplit.
	Field, NameField string
	// RootService is the one that clients use; empty for the stable Service.
	RootService string
	// Split is the name of the TrafficSplit; empty for the Rollout's.
	Split string
}

// Ambassador splits traffic with a canary Mapping beside each Mapping of Ambassador, or Emissary.
type Ambassador struct {
	// Field is where the spec sets the router up.
	Field string
	// Mappings route to the stable Service.
	Mappings []NamedObject
}

// NamedObject is an object that the spec names.
type NamedObject struct {
	// Field of the spec that names it.
	Field string
	Name  string
}

// Plugin splits traffic by a program that the administrator lists.
type Plugin struct {
	// Field is where the spec sets the router up.
	Field string
	// Name is that of the plugin, Config what the spec says below it, in the plugin's own form.
	Name   string
	Config json.RawMessage
	// Sessions are what the spec wants of sessions, which no plugin can be asked for.
	Sessions Sessions
}

func (Plugin) isRouter()     {}
func (GatewayAPI) isRouter() {}
func (ALB) isRouter()        {}
func (Ambassador) isRouter() {}
func (Apisix) isRouter()     {}
func (Nginx) isRouter()      {}
func (SMI) isRouter()        {}
func (Traefik) isRouter()    {}
