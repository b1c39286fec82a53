package spec

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/celexpr"
	"github.com/sluice-delivery/sluice/internal/fieldpath"
)

// Custom splits traffic in an object of any kind, by paths and expressions.
type Custom struct {
	// Field is where the spec sets the router up, NameField where it names the object.
	Field, NameField string
	Kind             schema.GroupVersionKind
	Namespace, Name  string
	Weights          []CustomWeights
	// HeaderRules is how it routes by header, nil for not at all.
	HeaderRules *CustomHeaderRules
	Values      []CustomValue
}

// CustomWeights is where the object has weights: in the lists at Destinations, or in fields of its own at Canary and, if that is set, Stable.
type CustomWeights struct {
	Field                string
	Destinations, Weight fieldpath.Path
	Service              celexpr.Expression
	Canary, Stable       fieldpath.Path
}

// CustomHeaderRules is where the object has rules, and what the copy of one has that takes requests by a header.
type CustomHeaderRules struct {
	Field string
	Rules fieldpath.Path
	Rule  celexpr.Expression
}

// CustomValue is a field that depends on the versions.
type CustomValue struct {
	Field string
	Path  fieldpath.Path
	Value celexpr.Expression
}

func (Custom) isRouter() {}

// kindsOfRouters are those of which another router knows more than expressions can say, by their names with their groups.
var kindsOfRouters = map[string]string{
	"VirtualService.networking.istio.io":   "istio",
	"DestinationRule.networking.istio.io":  "istio",
	"TraefikService.traefik.io":            "traefik",
	"TraefikService.traefik.containo.us":   "traefik",
	"ApisixRoute.apisix.apache.org":        "apisix",
	"TrafficSplit.split.smi-spec.io":       "smi",
	"Mapping.getambassador.io":             "ambassador",
	"Mapping.x.getambassador.io":           "ambassador",
	"AmbassadorMapping.x.getambassador.io": "ambassador",
}

// IsCustomKind reports whether objects of a kind may be named by the custom router: not one of Kubernetes, or of this project, on which the
// controller has rights for reasons of its own, and not one of another router.
func IsCustomKind(kind schema.GroupKind) bool {
	return isForeignGroup(kind.Group) && kindsOfRouters[kind.String()] == ""
}

func isForeignGroup(group string) bool {
	return strings.Contains(group, ".") && group != v1alpha1.Group && !strings.HasSuffix(group, ".k8s.io") && !strings.HasSuffix(group, "kubernetes.io")
}

// Variables of the expressions.
var (
	customServiceVariables = []string{"entry", "object", "stable", "canary"}
	customRuleVariables    = []string{"rule", "header", "route", "object", "stable", "canary"}
)

// custom reads the router of an object of any kind for a Rollout in a namespace.
func (p *problems) custom(field string, c v1alpha1.CustomTrafficRouting, namespace string) Custom {
	before := len(*p)
	out := Custom{Field: field, NameField: field + ".name", Kind: p.customKind(field, c), Namespace: c.Namespace, Name: c.Name}
	if out.Namespace == "" {
		out.Namespace = namespace
	} else if bad := validation.IsDNS1123Label(out.Namespace); len(bad) > 0 {
		p.add(field+".namespace", "%q cannot be the name of a namespace: %s", out.Namespace, bad[0])
	}
	p.object(out.NameField, c.Kind, c.Name)
	if len(c.Weights) == 0 {
		p.add(field+".weights", "is empty: say where the object has the weights, for example destinations: spec.routes[*].services with service: entry.name")
	}
	for i, w := range few(p, field+".weights", "places", c.Weights) {
		out.Weights = append(out.Weights, p.customWeights(fmt.Sprintf("%s.weights[%d]", field, i), w))
	}
	if h := c.HeaderRoutes; h != nil {
		at := field + ".headerRoutes"
		out.HeaderRules = &CustomHeaderRules{Field: at, Rules: p.specPath(at+".rules", h.Rules), Rule: p.cel(at+".rule", h.Rule, customRuleVariables)}
		through := func(w CustomWeights) bool {
			_, ok := w.Destinations.Below(out.HeaderRules.Rules)
			return ok
		}
		if len(*p) == before && !slices.ContainsFunc(out.Weights, through) {
			p.add(at+".rules", "%q is not on the way to any destinations: name the list of rules that have them, for example spec.routes where destinations is spec.routes[*].services", h.Rules)
		}
	}
	for i, v := range few(p, field+".fields", "fields", c.Fields) {
		at := fmt.Sprintf("%s.fields[%d]", field, i)
		out.Values = append(out.Values, CustomValue{Field: at, Path: p.specPath(at+".path", v.Path), Value: p.cel(at+".value", v.Value, customServiceVariables)})
	}
	return out
}

// customKind is the kind of an object that the custom router may name.
func (p *problems) customKind(field string, c v1alpha1.CustomTrafficRouting) schema.GroupVersionKind {
	version, err := schema.ParseGroupVersion(c.APIVersion)
	if err != nil || version.Version == "" {
		p.add(field+".apiVersion", "%q is not GROUP/VERSION: set it as in the object's manifest, for example projectcontour.io/v1", c.APIVersion)
		return schema.GroupVersionKind{}
	}
	kind := version.WithKind(c.Kind)
	router := kindsOfRouters[kind.GroupKind().String()]
	switch {
	case kind.Group == "gateway.networking.k8s.io":
		p.add(field+".kind", "%s is a kind of the Gateway API: use trafficRouting.gatewayAPI", c.Kind)
	case router != "":
		p.add(field+".kind", "%s has a router of its own: use trafficRouting.%s", kind.GroupKind(), router)
	case !isForeignGroup(kind.Group):
		p.add(field+".apiVersion", "%q is an API of Kubernetes or of this controller, whose objects this router never changes: name a custom resource of a proxy or service mesh", c.APIVersion)
	case strings.ToUpper(c.Kind[:min(1, len(c.Kind))]) != c.Kind[:min(1, len(c.Kind))] || len(validation.IsDNS1035Label(strings.ToLower(c.Kind))) > 0:
		p.add(field+".kind", "%q cannot be a kind: set it as in the object's manifest, for example HTTPProxy", c.Kind)
	default:
		return kind
	}
	return schema.GroupVersionKind{}
}

func (p *problems) customWeights(field string, w v1alpha1.CustomWeights) CustomWeights {
	out := CustomWeights{Field: field}
	switch {
	case (w.Destinations != "") == (w.CanaryWeight != ""):
		p.add(field, "set exactly one of destinations, the path of lists of destinations, and canaryWeight, the path of the canary's weight")
	case w.CanaryWeight != "":
		out.Canary = p.specPath(field+".canaryWeight", w.CanaryWeight)
		if w.StableWeight != "" {
			out.Stable = p.specPath(field+".stableWeight", w.StableWeight)
		}
		for _, path := range []fieldpath.Path{out.Canary, out.Stable} {
			if path.HasLists() {
				p.add(field, "%q leads through a list: use destinations, which finds each weight by its Service", path)
			}
		}
		if w.Service != "" || w.Weight != "" {
			p.add(field, "service and weight belong to destinations, which is not set: remove them")
		}
	default:
		if w.StableWeight != "" {
			p.add(field+".stableWeight", "belongs to canaryWeight, which is not set: remove it")
		}
		out.Destinations = p.specPath(field+".destinations", w.Destinations)
		out.Service = p.cel(field+".service", w.Service, customServiceVariables)
		text := w.Weight
		if text == "" {
			text = "weight"
		}
		if out.Weight = p.path(field+".weight", text); out.Weight.HasLists() {
			p.add(field+".weight", "%q leads through a list, and a destination has one weight: use a path without [*]", text)
		}
	}
	return out
}

// specPath reads the path of a field below spec.
func (p *problems) specPath(field, text string) fieldpath.Path {
	path := p.path(field, text)
	if len(path) > 0 && (path.Root() != "spec" || len(path) == 1) {
		p.add(field, "%q does not lead to a field below spec, and nothing else is written: begin it with spec.", text)
		return nil
	}
	return path
}

func (p *problems) path(field, text string) fieldpath.Path {
	path, err := fieldpath.Parse(text)
	if err != nil {
		p.add(field, "%q is not a path: %v; write keys separated by dots, with [*] after a list, for example spec.routes[*].services", text, err)
	}
	return path
}

// cel compiles an expression with these variables.
func (p *problems) cel(field, text string, variables []string) celexpr.Expression {
	expression, err := celexpr.Compile(text, variables...)
	if err != nil {
		p.add(field, "%q is not a CEL expression that can be used here: %v; its variables are %s", shortened(text), err, strings.Join(variables, ", "))
	}
	return expression
}

func shortened(text string) string {
	if len(text) > 200 {
		return strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}
