package nginx

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// GVK is the version in which Ingresses are read and written.
var GVK = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}

// New returns the router of a Rollout.
func New(owner traffic.Owner, n spec.Nginx) traffic.Router { return router{owner, n} }

type router struct {
	owner traffic.Owner
	spec  spec.Nginx
}

// Name implements [traffic.Router].
func (router) Name() string { return "Nginx" }

// Features implements [traffic.Router].
func (router) Features() traffic.Features { return traffic.Features{AnyMax: true} }

// Refs implements [traffic.Router].
func (r router) Refs() []traffic.Ref {
	var all []traffic.Ref
	for _, in := range r.spec.StableIngresses {
		all = append(all, r.ref(in.Name, in.Field), r.ref(CanaryName(r.owner.Name, in.Name), ""))
	}
	return all
}

func (r router) ref(name, field string) traffic.Ref {
	return traffic.Ref{GroupVersionKind: GVK, NamespacedName: types.NamespacedName{Namespace: r.owner.Namespace, Name: name}, Field: field}
}

// CanaryName is the name of the canary Ingress. Upstream has it so, and what it made is taken over.
func CanaryName(rollout, stableIngress string) string {
	const suffix, longest = "-canary", 253
	prefix := rollout + "-" + stableIngress
	if len(prefix) > longest-len(suffix) {
		prefix = strings.TrimRight(prefix[:longest-len(suffix)], "-.")
	}
	return prefix + suffix
}

// Render implements [traffic.Router].
func (r router) Render(want traffic.Split, have traffic.Objects) (traffic.Objects, []spec.Problem) {
	out := traffic.Objects{}
	var problems []spec.Problem
	for _, in := range r.spec.StableIngresses {
		stable, canary := r.ref(in.Name, in.Field).Key(), r.ref(CanaryName(r.owner.Name, in.Name), "").Key()
		before := have[canary]
		if before != nil {
			out[canary] = before
		}
		if have[stable] == nil {
			problems = append(problems, spec.MissingObject(in.Field, "Ingress", in.Name, r.owner.Namespace))
			continue
		}
		out[stable] = have[stable]
		after, problem := r.render(want, in.Name, have[stable], before)
		if problem != "" {
			problems = append(problems, spec.Problem{Field: in.Field, Text: problem})
			continue
		}
		out[canary] = after
	}
	if len(want.Routes) > 0 {
		problems = append(problems, r.cannot("carry out setHeaderRoute and setMirrorRoute: remove these steps, or use canary-by-header in canaryIngressAnnotations"))
	}
	if len(want.Additional) > 0 {
		problems = append(problems, r.cannot("split traffic between more than two versions: remove the weights of the experiment's templates"))
	}
	return out, problems
}

func (r router) cannot(what string) spec.Problem {
	return spec.Problem{Field: r.spec.Field, Text: "the router cannot " + what}
}

// render returns the canary Ingress beside a stable one.
func (r router) render(want traffic.Split, name string, stable, canary *unstructured.Unstructured) (*unstructured.Unstructured, string) {
	if canary != nil && !traffic.Controls(r.owner, canary) {
		return nil, fmt.Sprintf("Ingress %q, which is to be the canary beside %q, exists and is not controlled by the Rollout: delete it, or name the Rollout otherwise",
			canary.GetName(), name)
	}
	rules := canaryRules(stable, want.Stable.Service, want.Canary.Service)
	if len(rules) == 0 {
		return nil, fmt.Sprintf("Ingress %q has no rule for the stable Service %q: add a rule with a path to it", name, want.Stable.Service)
	}
	return r.canary(want, stable, canary, rules), ""
}

// Release implements [traffic.Router].
func (r router) Release(object *unstructured.Unstructured) *unstructured.Unstructured {
	if traffic.Controls(r.owner, object) {
		return nil
	}
	return object
}
