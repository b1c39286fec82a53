package gatewayapi

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// New returns the router of a Rollout, as far as the policy of the controller lets it reach.
func New(owner traffic.Owner, g spec.GatewayAPI, policy spec.Policy) traffic.Router {
	return router{owner, withSelected(g, policy.Selected), policy}
}

type router struct {
	owner  traffic.Owner
	spec   spec.GatewayAPI
	policy spec.Policy
}

// Name implements [traffic.Router].
func (router) Name() string { return "GatewayAPI" }

// Features implements [traffic.Router].
func (r router) Features() traffic.Features {
	managed := slices.ContainsFunc(r.spec.Routes, takesRules) || slices.ContainsFunc(r.spec.Selectors, func(s spec.GatewaySelector) bool { return s.Managed })
	return traffic.Features{Headers: managed, Mirrors: managed, Additional: true, AnyMax: true}
}

func takesRules(route spec.GatewayRoute) bool { return route.Managed && matcherOf(route.Kind) != nil }

// Refs implements [traffic.Router].
func (r router) Refs() []traffic.Ref {
	var all []traffic.Ref
	for _, route := range r.spec.Routes {
		all = append(all, r.ref(GVK(route.Kind), route.Name, route.Field))
	}
	if r.spec.ConfigMap != "" {
		all = append(all, r.notesOfPlugin())
	}
	return all
}

func (r router) ref(gvk schema.GroupVersionKind, name, field string) traffic.Ref {
	return traffic.Ref{GroupVersionKind: gvk, NamespacedName: types.NamespacedName{Namespace: r.spec.Namespace, Name: name}, Field: field}
}

// Versions are those in which the API server may have a kind of route, the best first.
func Versions(kind string) []string {
	switch kind {
	case spec.TLSRoute:
		return []string{"v1", "v1alpha3", "v1alpha2"}
	case spec.TCPRoute:
		return []string{"v1", "v1alpha2"}
	}
	return []string{"v1"}
}

// GVK is the version in which a kind of route is read and written.
func GVK(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: kind}
}

// Render implements [traffic.Router].
func (r router) Render(want traffic.Split, have traffic.Objects) (traffic.Objects, []spec.Problem) {
	out := traffic.Objects{}
	notes := r.notesOfPlugin().Key()
	if o := have[notes]; o != nil {
		out[notes] = o // read, and not written
	}
	p := problems{fitting: map[string]bool{}}
	for _, in := range r.spec.Routes {
		ref := r.ref(GVK(in.Kind), in.Name, in.Field)
		key := ref.Key()
		object := have[key]
		switch {
		case !traffic.MayUse(r.owner, r.policy, key, object):
			p.append(traffic.NotAllowed(r.owner, ref))
		case object == nil:
			p.append(spec.MissingObject(in.Field, in.Kind, in.Name, r.spec.Namespace))
		default:
			out[key] = r.render(&p, in, want, object, have[notes])
			continue
		}
		if object != nil {
			out[key] = object
		}
	}
	r.miscounted(&p)
	p.unfit(r.spec, want)
	return out, p.list
}

// render returns one route as it should be. One with a problem stays as it is.
func (r router) render(all *problems, in spec.GatewayRoute, want traffic.Split, object, configMap *unstructured.Unstructured) *unstructured.Unstructured {
	p := &problems{fitting: all.fitting}
	route := open(r.owner, object)
	route.dropRulesOfPlugin(configMap, want)
	if r.spec.RulesByName {
		route.dropNamedByPlugin(want)
	}
	route.dropManaged()
	route.dropSessions(r.spec.Sessions, want)
	if !route.weigh(want) {
		p.add(in.Field, "%s %q has no rule with a backendRef to the stable Service %q of namespace %s: add one", in.Kind, in.Name, want.Stable.Service, r.owner.Namespace)
	}
	if takesRules(in) {
		route.addManaged(p, in, want)
	}
	route.keepSessions(p, in, r.spec.Sessions, want)
	if value, taken := route.label(r.spec, want.InProgress); taken {
		p.add(in.Field, "%s %q has the label %s: %s already, which is not this controller's: choose another %s.inProgressLabelKey, or remove the label",
			in.Kind, in.Name, r.spec.InProgressKey, value, r.spec.Field)
	}
	if len(p.list) > 0 {
		all.list = append(all.list, p.list...)
		return object
	}
	return route.close()
}

// Release implements [traffic.Router].
func (r router) Release(object *unstructured.Unstructured) *unstructured.Unstructured {
	if !isRoute(object.GroupVersionKind()) {
		return object
	}
	route := open(r.owner, object)
	route.dropManaged()
	route.dropSessions(spec.Sessions{}, traffic.Split{})
	route.dropAdded()
	route.label(spec.GatewayAPI{}, false)
	return route.close()
}

// Return implements [traffic.Returner].
func (r router) Return(object *unstructured.Unstructured) *unstructured.Unstructured {
	if !isRoute(object.GroupVersionKind()) {
		return object
	}
	route := open(r.owner, object)
	route.toStable()
	return route.close()
}

func isRoute(gvk schema.GroupVersionKind) bool { return gvk.Group == GVK("").Group }

// problems are the problems found, and which of the managed routes have found a rule.
type problems struct {
	list    []spec.Problem
	fitting map[string]bool
}

func (p *problems) add(field, format string, args ...any) {
	p.append(spec.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

func (p *problems) append(problem spec.Problem) {
	if !slices.Contains(p.list, problem) { // several rules may have it
		p.list = append(p.list, problem)
	}
}

// unfit reports managed routes that are in effect nowhere, so that their step would do nothing.
func (p *problems) unfit(g spec.GatewayAPI, want traffic.Split) {
	if len(p.list) > 0 {
		return // the reason may be among them
	}
	for _, route := range want.Routes {
		if !p.fitting[route.RouteName()] {
			p.add(g.Field, "no rule of the routes can take the managed route %q: name an HTTPRoute or GRPCRoute that has a rule for the stable Service and lets such requests through, none of the other rules being nearer to them",
				route.RouteName())
		}
	}
}
