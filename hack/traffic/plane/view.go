package plane

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// view is what a proxy has seen of a namespace.
type view struct {
	services  map[string]*corev1.Service
	slices    map[string][]*discoveryv1.EndpointSlice // by Service
	ingresses []*networkingv1.Ingress
	routes    []*unstructured.Unstructured // HTTPRoutes
}

// Loopback is where on this machine an address of the playground answers.
func Loopback(ip string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(ip)
	if err != nil || !addr.Is4() {
		return netip.Addr{}, false
	}
	b := addr.As4()
	b[0] = 127
	return netip.AddrFrom4(b), true
}

// targets are the endpoints that get the traffic of a port of a Service: those that are ready, or, where none is, those that still serve.
func (v view) targets(service string, port corev1.ServicePort) []string {
	var ready, serving []string
	for _, slice := range v.slices[service] {
		number, ok := portOf(slice, port)
		if !ok {
			continue
		}
		for _, e := range slice.Endpoints {
			for _, ip := range e.Addresses {
				at, ok := Loopback(ip)
				if !ok {
					continue
				}
				target := netip.AddrPortFrom(at, number).String()
				switch {
				case e.Conditions.Ready == nil || *e.Conditions.Ready:
					ready = append(ready, target)
				case e.Conditions.Serving != nil && *e.Conditions.Serving:
					serving = append(serving, target)
				}
			}
		}
	}
	if len(ready) == 0 {
		ready = serving
	}
	slices.Sort(ready)
	return slices.Compact(ready)
}

func portOf(slice *discoveryv1.EndpointSlice, port corev1.ServicePort) (uint16, bool) {
	for _, p := range slice.Ports {
		if p.Port != nil && (p.Name == nil || *p.Name == port.Name) {
			return uint16(*p.Port), true
		}
	}
	return 0, false
}

// port is a port of a Service by its number or name.
func (v view) port(service string, wanted intstr.IntOrString) (corev1.ServicePort, bool) {
	s := v.services[service]
	if s == nil {
		return corev1.ServicePort{}, false
	}
	i := slices.IndexFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Name == wanted.StrVal && wanted.Type == intstr.String || p.Port == wanted.IntVal && wanted.Type == intstr.Int
	})
	if i < 0 {
		return corev1.ServicePort{}, false
	}
	return s.Spec.Ports[i], true
}

// upstream is a group of endpoints, as NGINX calls it.
type upstream struct {
	name    string
	targets []string
}

func (v view) upstream(service string, wanted intstr.IntOrString) upstream {
	u := upstream{name: strings.ToLower(fmt.Sprintf("%s-%s", service, wanted.String()))}
	if port, ok := v.port(service, wanted); ok {
		u.targets = v.targets(service, port)
	}
	return u
}
