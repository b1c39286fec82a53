package apisix

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/note"
)

// GVK is the version in which ApisixRoutes are read and written.
var GVK = schema.GroupVersionKind{Group: "apisix.apache.org", Version: "v2", Kind: "ApisixRoute"}

// Kinds are those of the objects that the router writes.
func Kinds() []schema.GroupVersionKind { return []schema.GroupVersionKind{GVK} }

// New returns the router of a Rollout.
func New(owner traffic.Owner, a spec.Apisix) traffic.Router { return router{owner, a} }

type router struct {
	owner traffic.Owner
	spec  spec.Apisix
}

// Name implements [traffic.Router].
func (router) Name() string { return "Apisix" }

// Features implements [traffic.Router].
func (router) Features() traffic.Features { return traffic.Features{Headers: true, AnyMax: true} }

// Refs implements [traffic.Router].
func (r router) Refs() []traffic.Ref {
	all := []traffic.Ref{r.ref(r.spec.Route, r.spec.RouteField)}
	for _, name := range r.spec.Managed {
		all = append(all, r.ref(name, ""))
	}
	return all
}

func (r router) ref(name, field string) traffic.Ref {
	return traffic.Ref{GroupVersionKind: GVK, NamespacedName: types.NamespacedName{Namespace: r.owner.Namespace, Name: name}, Field: field}
}

// Render implements [traffic.Router].
func (r router) Render(want traffic.Split, have traffic.Objects) (traffic.Objects, []spec.Problem) {
	out := traffic.Objects{}
	var problems []spec.Problem
	add := func(field, format string, args ...any) {
		problems = append(problems, spec.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	base := r.ref(r.spec.Route, r.spec.RouteField).Key()
	before := have[base]
	broken := before == nil
	if before == nil {
		problems = append(problems, spec.MissingObject(r.spec.RouteField, "ApisixRoute", r.spec.Route, r.owner.Namespace))
	} else {
		after, problem := r.weigh(want, before)
		if broken = problem != ""; broken {
			add(r.spec.RouteField, "ApisixRoute %q: %s", r.spec.Route, problem)
		}
		out[base] = after
	}
	wanted := map[string]traffic.HeaderRoute{}
	for _, route := range want.Routes {
		switch route := route.(type) {
		case traffic.HeaderRoute:
			wanted[route.Name] = route
		case traffic.MirrorRoute:
			add(r.spec.Field, "the router cannot mirror requests: remove the step setMirrorRoute of the managed route %q", route.Name)
		}
	}
	for _, name := range r.spec.Managed {
		key := r.ref(name, "").Key()
		there := have[key]
		route, set := wanted[name]
		delete(wanted, name)
		switch {
		case there != nil && !traffic.Controls(r.owner, there):
			out[key] = there
			if set {
				add(r.spec.Field, "duplicate ApisixRoute [%s] already exists, and does not belong to the Rollout: delete it, or give the managed route another name", name)
			}
		case set && broken:
			if there != nil {
				out[key] = there
			}
		case set:
			out[key] = r.header(want, route, before, there)
		}
	}
	for _, route := range want.Routes {
		if _, left := wanted[route.RouteName()]; left {
			add(r.spec.Field, "the managed route %q is not among trafficRouting.managedRoutes: list it there", route.RouteName())
		}
	}
	if len(want.Additional) > 0 {
		add(r.spec.Field, "the router cannot split traffic between more than two versions: remove the weights of the experiment's templates")
	}
	return out, problems
}

// weigh returns an ApisixRoute with the weights of a split, the one that is there if it has them. One with a problem stays as it is.
func (r router) weigh(want traffic.Split, before *unstructured.Unstructured) (after *unstructured.Unstructured, problem string) {
	after = before.DeepCopy()
	rules, problem := r.rules(after)
	if problem != "" {
		return before, problem
	}
	for _, rule := range rules {
		backends, problem := backendsOf(rule, want)
		if problem != "" {
			return before, problem
		}
		for _, d := range []traffic.Destination{want.Stable, want.Canary} {
			weight := int64(d.Weight)
			for _, backend := range backends[d.Service] { // the first one carries it
				if read, ok := weightOf(backend); !ok || read != weight {
					backend["weight"] = weight
				}
				weight = 0
			}
		}
	}
	notes, is := readNotes(before), mark{Pair: note.PairOf(want)}
	if is.Pair != (note.Pair{}) {
		is.Rules = r.ruleNames()
	}
	notes.Set(r.owner, is)
	notes.Write(after)
	if reflect.DeepEqual(before.Object, after.Object) {
		return before, ""
	}
	return after, ""
}

// rules are those of an ApisixRoute that the spec names, or the one that is called as it is.
func (r router) rules(o *unstructured.Unstructured) (rules []map[string]any, problem string) {
	content, _ := o.Object["spec"].(map[string]any)
	list, ok := content["http"].([]any)
	if !ok {
		return nil, "spec.http was not found in Apisix Route manifest: add the rule that sends to the two Services"
	}
	for _, name := range r.ruleNames() {
		i := slices.IndexFunc(list, func(entry any) bool {
			rule, _ := entry.(map[string]any)
			return rule["name"] == name
		})
		if i < 0 {
			return nil, fmt.Sprintf("Apisix http route rule %s not found: name a rule of spec.http in trafficRouting.apisix.route.rules", name)
		}
		rules = append(rules, list[i].(map[string]any))
	}
	return rules, ""
}

// ruleNames are the names of the rules that the spec asks to split.
func (r router) ruleNames() []string {
	if len(r.spec.Rules) == 0 {
		return []string{r.spec.Route}
	}
	return r.spec.Rules
}

// byService are the backends of a rule by their Services.
func byService(rule map[string]any) (all map[string][]map[string]any, ok bool) {
	list, ok := rule["backends"].([]any)
	all = map[string][]map[string]any{}
	for _, entry := range list {
		backend, _ := entry.(map[string]any)
		if name, _ := backend["serviceName"].(string); name != "" {
			all[name] = append(all[name], backend)
		}
	}
	return all, ok
}

// backendsOf are the backends of a rule by their Services; both of the split must be there.
func backendsOf(rule map[string]any, want traffic.Split) (all map[string][]map[string]any, problem string) {
	all, ok := byService(rule)
	if !ok {
		return nil, "Apisix http route backends not found: list the two Services as backends"
	}
	for _, service := range []string{want.Stable.Service, want.Canary.Service} {
		if len(all[service]) == 0 {
			return nil, fmt.Sprintf("apisix route %s backend was not found: list the Service %q among the backends", service, service)
		}
	}
	return all, ""
}

// weightOf is the weight of a backend. One that is not written means 100.
func weightOf(backend map[string]any) (int64, bool) {
	if backend["weight"] == nil {
		return 100, true
	}
	weight, ok := traffic.Number(backend["weight"])
	return weight, ok && weight >= 0
}

// Weight implements [traffic.Router].
func (r router) Weight(of traffic.Split, have traffic.Objects) (all traffic.Interval, ok bool) {
	base := have[r.ref(r.spec.Route, "").Key()]
	if base == nil {
		return traffic.Interval{}, false
	}
	rules, problem := r.rules(base)
	if problem != "" {
		return traffic.Interval{}, false
	}
	for i, rule := range rules {
		backends, problem := backendsOf(rule, of)
		if problem != "" {
			return traffic.Interval{}, false
		}
		readable := true
		sum := func(entries []map[string]any) (sum int64) {
			for _, entry := range entries {
				weight, ok := weightOf(entry)
				readable = readable && ok && weight <= maxWeight
				sum += weight
			}
			return sum
		}
		canary, stable := sum(backends[of.Canary.Service]), sum(backends[of.Stable.Service])
		one, portion := traffic.Portion(canary, canary+stable, of.Max)
		switch {
		case !readable || !portion:
			return traffic.Interval{}, false
		case i == 0:
			all = one
		default:
			all = all.And(one)
		}
	}
	return all, true
}

// maxWeight is more than anyone gives a backend, so that sums do not overflow.
const maxWeight = 1 << 31

// Release implements [traffic.Router].
func (r router) Release(object *unstructured.Unstructured) *unstructured.Unstructured {
	if traffic.Controls(r.owner, object) {
		return nil
	}
	notes := readNotes(object)
	return notes.Without(r.owner, object)
}

// Return implements [traffic.Returner].
func (r router) Return(object *unstructured.Unstructured) *unstructured.Unstructured {
	notes, out := readNotes(object), object.DeepCopy()
	noted := notes.Of(r.owner)
	content, _ := out.Object["spec"].(map[string]any)
	list, _ := content["http"].([]any)
	for _, entry := range list {
		rule, _ := entry.(map[string]any)
		if name, _ := rule["name"].(string); !slices.Contains(noted.Rules, name) {
			continue
		}
		if backends, ok := byService(rule); ok {
			noted.ToStable(backends, weightOf, int64(v1alpha1.DefaultMaxTrafficWeight))
		}
	}
	return out
}

// mark is what is noted of a Rollout in an ApisixRoute: the Services, and the rules that it splits between them.
type mark struct {
	note.Pair
	Rules []string `json:"rules,omitempty"`
}

func readNotes(o *unstructured.Unstructured) note.Notes[mark] {
	return note.Read[mark](o, v1alpha1.ApisixNotesAnnotation)
}

// Owners are the Rollout whose own an ApisixRoute is, and those that have something noted in it.
func Owners(object *unstructured.Unstructured) []types.NamespacedName {
	notes := readNotes(object)
	return append(traffic.ControllingRollout(object), notes.Names()...)
}
