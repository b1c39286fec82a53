package spec

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Istio splits traffic in routes of Istio's VirtualServices.
type Istio struct {
	// Field is where the spec sets the router up.
	Field           string
	VirtualServices []IstioVirtualService
	// DestinationRule whose subsets are the versions; without a name the versions are told apart by hosts.
	DestinationRule IstioDestinationRule
	// Sessions keep clients on a version; without a cookie they do not.
	Sessions Sessions
}

// IstioVirtualService is which routes of a VirtualService to split.
type IstioVirtualService struct {
	// Field of the spec that names it.
	Field           string
	Namespace, Name string
	// Routes are the names of http routes.
	Routes []string
	// TLSRoutes and TCPRoutes are what tls and tcp routes match, the latter by their ports alone.
	TLSRoutes []IstioTLSRoute
	TCPRoutes []int64
}

// IstioTLSRoute finds tls routes. Port 0 is that of routes that name none.
type IstioTLSRoute struct {
	Port     int64
	SNIHosts []string
}

// IstioDestinationRule is which subsets of a DestinationRule are the versions.
type IstioDestinationRule struct {
	// Field of the spec that names it.
	Field          string
	Name           string
	Canary, Stable string
	// Additional are further subsets, which keep the weight that they have.
	Additional []string
}

func (Istio) isRouter() {}

// istio reads the router of Istio for a Rollout in a namespace.
func (p *problems) istio(field string, i *v1alpha1.IstioTrafficRouting, managed []v1alpha1.ManagedRoute, namespace string) Istio {
	out := Istio{Field: field}
	if (i.VirtualService != nil) == (len(i.VirtualServices) > 0) {
		p.add(field, "either VirtualService or VirtualServices must be configured: set exactly one of the two")
	}
	if i.VirtualService != nil {
		out.VirtualServices = append(out.VirtualServices, p.virtualService(field+".virtualService", i.VirtualService, managed, namespace))
	}
	for n, s := range few(p, field+".virtualServices", "VirtualServices", i.VirtualServices) {
		item := fmt.Sprintf("%s.virtualServices[%d]", field, n)
		one := p.virtualService(item, &s, managed, namespace)
		if slices.ContainsFunc(out.VirtualServices, func(o IstioVirtualService) bool { return o.Name == one.Name && o.Namespace == one.Namespace }) {
			p.add(one.Field, "%q is listed already: remove one of the two", s.Name)
		}
		out.VirtualServices = append(out.VirtualServices, one)
	}
	if rule := i.DestinationRule; rule != nil {
		at := field + ".destinationRule"
		out.DestinationRule = IstioDestinationRule{
			Field: at + ".name", Name: rule.Name, Canary: rule.CanarySubsetName, Stable: rule.StableSubsetName,
			Additional: few(p, at+".additionalSubsetNames", "subsets", rule.AdditionalSubsetNames),
		}
		p.object(at+".name", "DestinationRule", rule.Name)
		p.subsets(at, rule)
	}
	return out
}

// subsets checks the names of subsets.
func (p *problems) subsets(field string, rule *v1alpha1.IstioDestinationRule) {
	for _, s := range []struct{ field, name string }{{".canarySubsetName", rule.CanarySubsetName}, {".stableSubsetName", rule.StableSubsetName}} {
		if s.name == "" {
			p.add(field+s.field, "is empty: name a subset of the DestinationRule")
		}
		if slices.Contains(rule.AdditionalSubsetNames, s.name) {
			p.add(field+".additionalSubsetNames", "%q is that of a version too: remove it from the list", s.name)
		}
	}
	if rule.CanarySubsetName != "" && rule.CanarySubsetName == rule.StableSubsetName {
		p.add(field+".canarySubsetName", "%q is the stableSubsetName too: name another subset", rule.CanarySubsetName)
	}
}

// virtualService reads which routes of a VirtualService to split. The last part of its name is the namespace, so a name that has dots itself needs
// the namespace.
func (p *problems) virtualService(field string, s *v1alpha1.IstioVirtualService, managed []v1alpha1.ManagedRoute, namespace string) IstioVirtualService {
	out := IstioVirtualService{Field: field + ".name", Namespace: namespace, Name: s.Name, Routes: few(p, field+".routes", "routes", s.Routes)}
	if bare := strings.TrimSuffix(s.Name, ".cluster.local"); strings.Contains(bare, ".") {
		at := strings.LastIndex(bare, ".")
		out.Name, out.Namespace = bare[:at], bare[at+1:]
	} else {
		out.Name = bare
	}
	p.object(out.Field, "VirtualService", out.Name)
	if texts := validation.IsDNS1123Label(out.Namespace); out.Namespace != namespace && len(texts) > 0 {
		p.add(out.Field, "%q cannot be the name of a namespace: %s", out.Namespace, texts[0])
	}
	for i, name := range out.Routes {
		at := fmt.Sprintf("%s.routes[%d]", field, i)
		switch {
		case name == "":
			p.add(at, "is empty: name an http route")
		case slices.ContainsFunc(managed, func(m v1alpha1.ManagedRoute) bool { return m.Name == name }):
			p.add(at, "%q is in managedRoutes too, whose routes are removed after the update: rename one of the two", name)
		}
	}
	for _, r := range few(p, field+".tlsRoutes", "routes", s.TLSRoutes) {
		out.TLSRoutes = append(out.TLSRoutes, IstioTLSRoute{Port: r.Port, SNIHosts: few(p, field+".tlsRoutes.sniHosts", "hosts", r.SNIHosts)})
	}
	for _, r := range few(p, field+".tcpRoutes", "routes", s.TCPRoutes) {
		out.TCPRoutes = append(out.TCPRoutes, r.Port)
	}
	return out
}
