package ambassador

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// GVK is the version in which Mappings are read and written.
var GVK = schema.GroupVersionKind{Group: "getambassador.io", Version: "v2", Kind: "Mapping"}

// Kinds are those of the objects that the router writes.
func Kinds() []schema.GroupVersionKind { return []schema.GroupVersionKind{GVK} }

// Versions are those in which the API server may have Mappings, the best first: v2 is the one that Emissary stores.
func Versions() []string { return []string{"v2", "v3alpha1"} }

// New returns the router of a Rollout.
func New(owner traffic.Owner, a spec.Ambassador) traffic.Router { return router{owner, a} }

type router struct {
	owner traffic.Owner
	spec  spec.Ambassador
}

// Name implements [traffic.Router].
func (router) Name() string { return "Ambassador" }

// Features implements [traffic.Router].
func (router) Features() traffic.Features { return traffic.Features{} }

// Refs implements [traffic.Router].
func (r router) Refs() []traffic.Ref {
	var all []traffic.Ref
	for _, m := range r.spec.Mappings {
		all = append(all, r.ref(m.Name, m.Field), r.ref(spec.CanaryMapping(m.Name), ""))
	}
	return all
}

func (r router) ref(name, field string) traffic.Ref {
	return traffic.Ref{GroupVersionKind: GVK, NamespacedName: types.NamespacedName{Namespace: r.owner.Namespace, Name: name}, Field: field}
}

// Render implements [traffic.Router].
func (r router) Render(want traffic.Split, have traffic.Objects) (traffic.Objects, []spec.Problem) {
	out := traffic.Objects{}
	problems := traffic.InPercent(want, r.spec.Field)
	if len(problems) > 0 {
		return maps.Clone(have), problems
	}
	for _, m := range r.spec.Mappings {
		base, canary := r.ref(m.Name, m.Field).Key(), r.ref(spec.CanaryMapping(m.Name), "").Key()
		if have[base] != nil {
			out[base] = have[base]
		}
		after, problem := r.render(want, m.Name, have[base], have[canary])
		if problem != "" {
			problems = append(problems, spec.Problem{Field: m.Field, Text: problem})
		}
		if after != nil {
			out[canary] = after
		}
	}
	if len(want.Routes) > 0 {
		problems = append(problems, r.cannot("carry out setHeaderRoute and setMirrorRoute: remove these steps, or match the headers in a Mapping of your own"))
	}
	if len(want.Additional) > 0 {
		problems = append(problems, r.cannot("split traffic between more than two versions: remove the weights of the experiment's templates"))
	}
	return out, problems
}

func (r router) cannot(what string) spec.Problem {
	return spec.Problem{Field: r.spec.Field, Text: "the router cannot " + what}
}

// render returns the canary Mapping of a Mapping, the one that is there if it is right or cannot be.
func (r router) render(want traffic.Split, name string, base, before *unstructured.Unstructured) (after *unstructured.Unstructured, problem string) {
	if base == nil {
		return before, r.notFound(name)
	}
	if weighs(base) {
		return before, hasWeight(name)
	}
	address, _, _ := unstructured.NestedString(base.Object, "spec", "service")
	to, ok := lead(address, want.Stable.Service, want.Canary.Service)
	switch {
	case !ok:
		return before, fmt.Sprintf("Ambassador mapping %q does not route to the Service %q: its spec.service is %q", name, want.Stable.Service, address)
	case before != nil && !r.ours(before, to):
		return before, fmt.Sprintf("Ambassador mapping %q exists already, and does not belong to the Rollout: delete or rename it, the canary Mapping has this name", before.GetName())
	case before == nil && want.Canary.Weight == 0:
		return nil, ""
	}
	return r.canary(base, before, to, want.Canary.Weight), ""
}

// ours reports whether a canary Mapping is the Rollout's: its own, or one that Argo Rollouts has left, which gave it no owner.
func (r router) ours(canary *unstructured.Unstructured, address string) bool {
	service, _, _ := unstructured.NestedString(canary.Object, "spec", "service")
	return traffic.Controls(r.owner, canary) || len(canary.GetOwnerReferences()) == 0 && service == address
}

// Weight implements [traffic.Router].
func (r router) Weight(of traffic.Split, have traffic.Objects) (all traffic.Interval, ok bool) {
	for i, m := range r.spec.Mappings {
		base := have[r.ref(m.Name, m.Field).Key()]
		if base == nil {
			return traffic.Interval{}, false
		}
		one, ok := r.weightOf(have[r.ref(spec.CanaryMapping(m.Name), "").Key()], base, of)
		switch {
		case !ok:
			return traffic.Interval{}, false
		case i == 0:
			all = one
		default:
			all = all.And(one)
		}
	}
	return all, len(r.spec.Mappings) > 0
}

// weightOf is the weight that a canary Mapping carries: none where there is no such Mapping.
func (r router) weightOf(canary, base *unstructured.Unstructured, of traffic.Split) (traffic.Interval, bool) {
	if canary == nil {
		return traffic.Interval{}, true
	}
	from, _ := base.Object["spec"].(map[string]any)
	address, _ := from["service"].(string)
	to, leads := lead(address, of.Stable.Service, of.Canary.Service)
	content, _ := canary.Object["spec"].(map[string]any)
	weight, ok := traffic.Number(content["weight"])
	if !ok || !leads || from["weight"] != nil || !r.ours(canary, to) {
		return traffic.Interval{}, false
	}
	return traffic.Portion(weight, 100, of.Max)
}

// Release implements [traffic.Router].
func (r router) Release(object *unstructured.Unstructured) *unstructured.Unstructured {
	if traffic.Controls(r.owner, object) {
		return nil
	}
	return object
}
