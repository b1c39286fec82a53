package istio

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/note"
)

// route is an http, tls or tcp route of a VirtualService.
type route = map[string]any

// service is a copy of a VirtualService, with managed routes apart from the others.
type service struct {
	router
	want     traffic.Split
	original *unstructured.Unstructured
	object   *unstructured.Unstructured
	// host is the DestinationRule's, in subset mode.
	host  string
	notes note.Notes[mark]
	// mine is what was noted of this Rollout.
	mine mark
	// managed are the http routes of other Rollouts' managed routes, and later this one's.
	managed []managedRoute
	// http are all other http routes. What is no route at all stays what it is.
	http []any
	// problem is why managed routes cannot be told from others.
	problem string
}

type managedRoute struct {
	// owner has put it there: the routes are sorted by it, because each of several Rollouts that share the object must want the same order.
	owner string
	route route
}

func open(r router, object *unstructured.Unstructured, want traffic.Split) *service {
	s := &service{router: r, want: want, original: object, object: object.DeepCopy()}
	s.notes = readNotes(s.object)
	s.mine = s.notes.Of(r.owner)
	noted := map[string]string{}
	for _, owner := range s.notes.Owners() {
		for _, name := range s.notes.Of(owner).Routes {
			noted[name] = note.Key(owner)
		}
	}
	for _, name := range s.mine.Routes {
		noted[name] = note.Key(r.owner)
	}
	for _, entry := range s.list("http") {
		of, _ := entry.(route)
		name, _ := of["name"].(string)
		switch owner := noted[name]; {
		case name == "", owner == "" && !names(want.Managed, name):
			s.http = append(s.http, entry)
		case owner != "" && owner != note.Key(r.owner):
			if names(want.Managed, name) {
				s.problem = fmt.Sprintf("the managed route %q is that of Rollout %s: rename one of the two in managedRoutes", name, owner)
			}
			s.managed = append(s.managed, managedRoute{owner, of})
		}
	}
	s.dropSessions()
	return s
}

// list is the routes of a protocol in the copy.
func (s *service) list(protocol string) []any {
	of, _ := s.object.Object["spec"].(map[string]any)
	list, _ := of[protocol].([]any)
	return list
}

// place is a route that carries the weights.
type place struct {
	protocol string
	route    route
}

// choose finds the routes that carry the weights: those that the spec names, in each protocol that there is. It says why it cannot.
func (s *service) choose(in spec.IstioVirtualService) (all []place, problem string) {
	if s.problem != "" {
		return nil, s.problem
	}
	tls, tcp := s.list("tls"), s.list("tcp")
	http := withoutSessions(s.http)
	if len(http)+len(tls)+len(tcp) == 0 {
		return nil, "Unable to get any of the HTTP, TCP or TLS routes for the Istio VirtualService: add a route with destinations for the two Services"
	}
	add := func(protocol string, routes []route, text string) {
		if text != "" && problem == "" {
			problem = fmt.Sprintf("Istio VirtualService has invalid %s routes. Error: %s", strings.ToUpper(protocol), text)
		}
		for _, of := range routes {
			all = append(all, place{protocol, of})
		}
	}
	if len(http) > 0 || len(in.Routes) > 0 {
		routes, text := byName(http, in.Routes)
		add("http", routes, text)
	}
	if len(tls) > 0 || len(in.TLSRoutes) > 0 {
		routes, text := byMatches(tls, in.TLSRoutes, "TLS", func(of route, entry spec.IstioTLSRoute) bool {
			ports, hosts := matchesOf(of)
			return onePort(ports, entry.Port) && sameSet(hosts, entry.SNIHosts)
		})
		add("tls", routes, text)
	}
	if len(tcp) > 0 || len(in.TCPRoutes) > 0 {
		routes, text := byMatches(tcp, in.TCPRoutes, "TCP", func(of route, port int64) bool {
			ports, _ := matchesOf(of)
			return onePort(ports, port)
		})
		add("tcp", routes, text)
	}
	return all, problem
}

// byName finds http routes by their names, or the only one.
func byName(list []any, wanted []string) (found []route, problem string) {
	if len(wanted) == 0 {
		return only(list, "http", "routes")
	}
	for _, name := range wanted {
		at := slices.IndexFunc(list, func(entry any) bool {
			of, _ := entry.(route)
			have, ok := of["name"].(string)
			return ok && have == name
		})
		if at < 0 {
			return nil, fmt.Sprintf("HTTP Route '%s' is not found in the defined Virtual Service.", name)
		}
		if of := list[at].(route); !slices.ContainsFunc(found, func(o route) bool { return same(o, of) }) {
			found = append(found, of)
		}
	}
	return found, ""
}

// byMatches finds routes by what they match. An entry of the spec may stand for several.
func byMatches[E any](list []any, wanted []E, protocol string, fits func(route, E) bool) (found []route, problem string) {
	if len(wanted) == 0 {
		return only(list, strings.ToLower(protocol), strings.ToLower(protocol)+"Routes")
	}
	for _, entry := range wanted {
		hit := false
		for _, candidate := range list {
			of, ok := candidate.(route)
			if !ok || !fits(of, entry) {
				continue
			}
			hit = true
			if !slices.ContainsFunc(found, func(o route) bool { return same(o, of) }) {
				found = append(found, of)
			}
		}
		if !hit {
			return nil, fmt.Sprintf("No matching %s routes found in the defined Virtual Service.", protocol)
		}
	}
	return found, ""
}

// only is the one route of a list, where the spec names none.
func only(list []any, protocol, field string) ([]route, string) {
	if len(list) == 1 {
		if of, ok := list[0].(route); ok {
			return []route{of}, ""
		}
	}
	return nil, fmt.Sprintf("spec.%s[] should be set in VirtualService and it must have exactly one route when omitting spec.strategy.canary.trafficRouting.istio.virtualService.%s",
		protocol, field)
}

// same reports whether two are the same route, not just equal ones.
func same(a, b route) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }

// matchesOf are the ports and the SNI hosts of all matches of a route. A match without a port has port 0.
func matchesOf(of route) (ports []int64, hosts []string) {
	list, _ := of["match"].([]any)
	for _, entry := range list {
		match, _ := entry.(map[string]any)
		ports = append(ports, max(0, number(match["port"])))
		sni, _ := match["sniHosts"].([]any)
		for _, host := range sni {
			if name, ok := host.(string); ok {
				hosts = append(hosts, name)
			}
		}
	}
	return ports, hosts
}

// onePort reports whether all ports are this one; a route without matches has none.
func onePort(ports []int64, wanted int64) bool {
	if len(ports) == 0 {
		return wanted == 0
	}
	return !slices.ContainsFunc(ports, func(port int64) bool { return port != wanted })
}

// sameSet reports whether two lists have the same members, whatever their order and number.
func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

// close puts the VirtualService together again. If nothing has changed it is the original itself.
func (s *service) close() *unstructured.Unstructured {
	if s.list("http") != nil {
		slices.SortStableFunc(s.managed, func(a, b managedRoute) int { return cmp.Compare(a.owner, b.owner) })
		routes := make([]any, 0, len(s.managed)+len(s.http))
		for _, m := range s.managed {
			routes = append(routes, m.route)
		}
		s.object.Object["spec"].(map[string]any)["http"] = append(routes, s.http...)
	}
	s.notes.Write(s.object)
	if reflect.DeepEqual(s.original.Object, s.object.Object) {
		return s.original
	}
	return s.object
}
