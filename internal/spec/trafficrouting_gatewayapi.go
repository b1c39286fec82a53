package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spelling"
)

// Kinds of routes.
const (
	HTTPRoute = "HTTPRoute"
	GRPCRoute = "GRPCRoute"
	TCPRoute  = "TCPRoute"
	TLSRoute  = "TLSRoute"
)

// gatewayAPI reads the native router, whose header routes go to every route that can take them, unless the spec picks some.
func (p *problems) gatewayAPI(field string, g *v1alpha1.GatewayAPITrafficRouting, namespace string) GatewayAPI {
	out := p.gateway(field, g, namespace)
	picked := slices.ContainsFunc(out.Routes, func(r GatewayRoute) bool { return r.Managed })
	for i, r := range out.Routes {
		out.Routes[i].Managed = r.Managed || !picked && takesHeaders(r.Kind)
	}
	for i, s := range out.Selectors {
		out.Selectors[i].Managed = !picked && takesHeaders(s.Kind)
	}
	return out
}

// gatewayAPIPlugin reads the settings of the Gateway API plugin, which takes a route given by one name as one for header routes,
// and of those in a list only the ones that say so.
func (p *problems) gatewayAPIPlugin(field string, settings json.RawMessage, namespace string) GatewayAPI {
	var g v1alpha1.GatewayAPITrafficRouting
	if !p.settings(field, settings, &g) {
		return GatewayAPI{Field: field, Namespace: namespace}
	}
	out := p.gateway(field, &g, namespace)
	out.RulesByName = true
	out.Plugin = p.plugin(field, v1alpha1.GatewayAPIPluginName, settings)
	for i, r := range out.Routes {
		listed := strings.HasSuffix(r.Field, "].name")
		out.Routes[i].Managed = r.Managed || !listed && takesHeaders(r.Kind)
	}
	return out
}

func takesHeaders(kind string) bool { return kind == HTTPRoute || kind == GRPCRoute }

// gateway reads the fields that are the same in both. Of the routes only those are managed that the spec picks by useHeaderRoutes.
func (p *problems) gateway(field string, g *v1alpha1.GatewayAPITrafficRouting, namespace string) GatewayAPI {
	out := GatewayAPI{Field: field, Namespace: namespace, ConfigMap: g.ConfigMap}
	if g.Namespace != "" {
		out.Namespace = g.Namespace
		if problems := validation.IsDNS1123Label(g.Namespace); len(problems) > 0 {
			p.add(field+".namespace", "%q cannot be the name of a namespace: %s", g.Namespace, problems[0])
		}
	}
	if g.ConfigMap != "" {
		p.object(field+".configMap", "ConfigMap", g.ConfigMap)
	}
	for _, kind := range []struct {
		kind, one, many string
		name            string
		listed          []v1alpha1.GatewayAPIRoute
		selector        *metav1.LabelSelector
	}{
		{HTTPRoute, "httpRoute", "httpRoutes", g.HTTPRoute, g.HTTPRoutes, g.HTTPRouteSelector},
		{GRPCRoute, "grpcRoute", "grpcRoutes", g.GRPCRoute, g.GRPCRoutes, g.GRPCRouteSelector},
		{TCPRoute, "tcpRoute", "tcpRoutes", g.TCPRoute, g.TCPRoutes, g.TCPRouteSelector},
		{TLSRoute, "tlsRoute", "tlsRoutes", g.TLSRoute, g.TLSRoutes, g.TLSRouteSelector},
	} {
		if kind.selector != nil {
			s := GatewaySelector{Field: field + "." + kind.one + "Selector", Kind: kind.kind, Labels: kind.selector}
			p.routeSelector(s, out.Namespace != namespace)
			out.Selectors = append(out.Selectors, s)
		}
		if p.oneOrMany(field, kind.one, kind.many, kind.name, len(kind.listed)) {
			out.Routes = append(out.Routes, GatewayRoute{Field: field + "." + kind.one, Kind: kind.kind, Name: kind.name})
		}
		for i, r := range few(p, field+"."+kind.many, "routes", kind.listed) {
			item := fmt.Sprintf("%s.%s[%d]", field, kind.many, i)
			if r.UseHeaderRoutes && !takesHeaders(kind.kind) {
				p.add(item+".useHeaderRoutes", "a %s knows no headers: remove it", kind.kind)
			}
			if slices.ContainsFunc(kind.listed[:i], func(o v1alpha1.GatewayAPIRoute) bool { return o.Name == r.Name }) {
				p.add(item+".name", "%q is listed already: remove one of the two", r.Name)
			}
			out.Routes = append(out.Routes, GatewayRoute{Field: item + ".name", Kind: kind.kind, Name: r.Name, Managed: r.UseHeaderRoutes})
		}
	}
	for _, r := range out.Routes {
		p.object(r.Field, r.Kind, r.Name)
	}
	if len(out.Routes)+len(out.Selectors) == 0 {
		p.add(field, "name at least one route: httpRoute, grpcRoute, tcpRoute or tlsRoute, a list of several such as httpRoutes, or a selector such as httpRouteSelector")
	}
	p.inProgressLabel(field, g, &out)
	return out
}

// mostRequirements is how many labels a selector may ask for, and how many values it may accept of one: each route is compared with all of them.
const mostRequirements = 20

// routeSelector checks the labels of routes. Those of another namespace are named one by one: there, anyone who may label a
// route could add it to other people's Rollouts.
func (p *problems) routeSelector(s GatewaySelector, elsewhere bool) {
	count := len(s.Labels.MatchLabels) + len(s.Labels.MatchExpressions)
	for _, e := range s.Labels.MatchExpressions {
		count = max(count, len(e.Values))
	}
	_, err := metav1.LabelSelectorAsSelector(s.Labels)
	switch {
	case elsewhere:
		p.add(s.Field, "selects in the namespace of the Rollout only, and namespace is another one: list the %ss by name, or leave namespace out", s.Kind)
	case count == 0:
		p.add(s.Field, "is empty, and would select every %s of the namespace: write labels in matchLabels or matchExpressions", s.Kind)
	case count > mostRequirements:
		p.add(s.Field, "has %d labels or values, and may have %d: leave some of them out", count, mostRequirements)
	case err != nil:
		p.add(s.Field, "is invalid: %s", err)
	}
}

func (p *problems) inProgressLabel(field string, g *v1alpha1.GatewayAPITrafficRouting, out *GatewayAPI) {
	if g.DisableInProgressLabel {
		return
	}
	out.InProgressKey, out.InProgressValue = v1alpha1.DefaultInProgressLabelKey, v1alpha1.DefaultInProgressLabelValue
	if g.InProgressLabelKey != "" {
		out.InProgressKey = g.InProgressLabelKey
	}
	if g.InProgressLabelValue != "" {
		out.InProgressValue = g.InProgressLabelValue
	}
	if problems := validation.IsQualifiedName(out.InProgressKey); len(problems) > 0 {
		p.add(field+".inProgressLabelKey", "%q cannot be the key of a label: %s", out.InProgressKey, problems[0])
	}
	if tool := reservedFor(out.InProgressKey); tool != "" {
		p.add(field+".inProgressLabelKey", "%q is a key of %s, to which other tools give a meaning: choose one of your own, or leave it out for %s",
			out.InProgressKey, tool, v1alpha1.DefaultInProgressLabelKey)
	}
	if problems := validation.IsValidLabelValue(out.InProgressValue); len(problems) > 0 {
		p.add(field+".inProgressLabelValue", "%q cannot be the value of a label: %s", out.InProgressValue, problems[0])
	}
}

// reserved are domains whose labels decide about more than an update in progress: who owns an object, and what becomes of it.
var reserved = []string{"kubernetes.io", "k8s.io", "argocd.argoproj.io", "fluxcd.io", "helm.sh"}

// reservedFor is the reserved domain of a label's key, if it has one.
func reservedFor(key string) string {
	domain, _, prefixed := strings.Cut(key, "/")
	for _, of := range reserved {
		if prefixed && (domain == of || strings.HasSuffix(domain, "."+of)) {
			return of
		}
	}
	return ""
}

// settings reads a plugin's settings, which no schema has checked. It reports whether they could be read.
func (p *problems) settings(field string, text json.RawMessage, into *v1alpha1.GatewayAPITrafficRouting) bool {
	before := len(*p)
	var given map[string]json.RawMessage
	if p.notJSON(field, json.Unmarshal(text, &given)) {
		return false
	}
	known := keys(reflect.TypeFor[v1alpha1.GatewayAPITrafficRouting]())
	for _, key := range slices.Sorted(maps.Keys(given)) {
		at := field + "." + key
		switch {
		case !slices.Contains(known, key):
			p.unknown(at, key, known)
		case strings.HasSuffix(key, "Routes"):
			p.routeSettings(at, given[key])
		}
	}
	return !p.notJSON(field, json.Unmarshal(text, into)) && len(*p) == before
}

// routeSettings checks the keys in a list of routes.
func (p *problems) routeSettings(field string, text json.RawMessage) {
	var routes []map[string]json.RawMessage
	if json.Unmarshal(text, &routes) != nil {
		return // reported when all is read
	}
	known := keys(reflect.TypeFor[v1alpha1.GatewayAPIRoute]())
	for i, r := range routes {
		for _, key := range slices.Sorted(maps.Keys(r)) {
			if !slices.Contains(known, key) {
				p.unknown(fmt.Sprintf("%s[%d].%s", field, i, key), key, known)
			}
		}
	}
}

func (p *problems) unknown(field, key string, known []string) {
	if near := spelling.Nearest(key, known); near != "" {
		p.add(field, "there is no such setting: did you mean %s?", near)
		return
	}
	p.add(field, "there is no such setting: remove it; there are %s", strings.Join(known, ", "))
}

// notJSON reports JSON that does not have the expected form, and returns whether it did.
func (p *problems) notJSON(field string, err error) bool {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return false
	case errors.As(err, &wrong) && wrong.Field != "":
		p.add(field+"."+wrong.Field, "is a JSON %s: write %s", wrong.Value, article(wrong.Type))
	case errors.As(err, &wrong):
		p.add(field, "is a JSON %s: write the settings of the router, such as httpRoute", wrong.Value)
	default:
		p.add(field, "is not JSON: %s; write the settings of the router, such as httpRoute", err)
	}
	return true
}

// article says what a Go type is in the words of YAML.
func article(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list, each entry with a name"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	default:
		if t == reflect.TypeFor[metav1.LabelSelector]() {
			return "labels in matchLabels or matchExpressions"
		}
		return "an object with a name"
	}
}

// keys are the names of a type's fields in JSON.
func keys(t reflect.Type) []string {
	var all []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		all = append(all, name)
	}
	return all
}

func pluginField(field, name string) string { return fmt.Sprintf("%s.plugins[%q]", field, name) }
