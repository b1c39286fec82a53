package custom

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Kinds are none: which kinds there are only Rollouts tell.
func Kinds() []schema.GroupVersionKind { return nil }

// Owners are the Rollouts that have something noted in an object.
func Owners(object *unstructured.Unstructured) []types.NamespacedName {
	notes := readNotes(object)
	return notes.Names()
}

// New returns the router of a Rollout, as far as the policy of the controller lets it reach.
func New(owner traffic.Owner, c spec.Custom, policy spec.Policy) traffic.Router {
	return router{owner, c, policy}
}

type router struct {
	owner  traffic.Owner
	spec   spec.Custom
	policy spec.Policy
}

// Name implements [traffic.Router].
func (router) Name() string { return "Custom" }

// Features implements [traffic.Router].
func (r router) Features() traffic.Features {
	return traffic.Features{Headers: r.spec.HeaderRules != nil, AnyMax: !r.inPercent()}
}

// inPercent reports whether a weight stands alone, so that it means nothing without knowing what the whole is.
func (r router) inPercent() bool {
	for _, w := range r.spec.Weights {
		if len(w.Canary) > 0 && len(w.Stable) == 0 {
			return true
		}
	}
	return false
}

// Refs implements [traffic.Router].
func (r router) Refs() []traffic.Ref {
	if r.spec.Kind.Empty() || r.spec.Name == "" {
		return nil // the spec is invalid
	}
	return []traffic.Ref{r.ref()}
}

func (r router) ref() traffic.Ref {
	return traffic.Ref{
		GroupVersionKind: r.spec.Kind, NamespacedName: types.NamespacedName{Namespace: r.spec.Namespace, Name: r.spec.Name}, Field: r.spec.NameField,
	}
}

// Render implements [traffic.Router].
func (r router) Render(want traffic.Split, have traffic.Objects) (traffic.Objects, []spec.Problem) {
	out := traffic.Objects{}
	ref := r.ref()
	before := have[ref.Key()]
	if before != nil {
		out[ref.Key()] = before
	}
	var problems []spec.Problem
	if len(want.Additional) > 0 {
		problems = append(problems, r.problem(r.spec.Field, "the router cannot split traffic between more than two versions: remove the weights of the experiment's templates"))
	}
	switch {
	case !traffic.MayUse(r.owner, r.policy, ref.Key(), before):
		return out, append(problems, traffic.NotAllowed(r.owner, ref))
	case before == nil:
		return out, append(problems, spec.MissingObject(r.spec.NameField, ref.Kind, ref.Name, ref.Namespace))
	case before.GetNamespace() != ref.Namespace:
		return out, append(problems, r.problem(r.spec.NameField, "%s %q is in no namespace, and such objects are never changed: name an object of a kind that is in namespaces", ref.Kind, ref.Name))
	}
	if scale := traffic.InPercent(want, r.spec.Field); r.inPercent() && len(scale) > 0 {
		return out, append(problems, scale...)
	}
	o := open(r.owner, before)
	bad := r.render(o, want)
	if bad != nil {
		return out, append(problems, *bad)
	}
	o.close()
	if !equality.Semantic.DeepEqual(before.Object, o.object.Object) {
		out[ref.Key()] = o.object
	}
	return out, problems
}

func (r router) problem(field, format string, args ...any) spec.Problem {
	return spec.Problem{Field: field, Text: fmt.Sprintf(format, args...)}
}

// render writes a split into an object, and returns the first problem with that.
func (r router) render(o *object, want traffic.Split) *spec.Problem {
	o.split = want
	o.dropRules()
	o.clearFields()
	places := 0
	for _, w := range r.spec.Weights {
		n, bad := r.weigh(o, w)
		if bad != nil {
			return bad
		}
		places += n
		if n == 0 {
			problem := r.problem(w.Field, "%s %q has no list at %s with a destination for each of the Services %q and %q: add them, or fix destinations and service",
				r.spec.Kind.Kind, r.spec.Name, w.Destinations, want.Stable.Service, want.Canary.Service)
			return &problem
		}
	}
	if bad := r.setFields(o); bad != nil {
		return bad
	}
	return r.addRules(o) // which are copies of rules with these fields
}

// Release implements [traffic.Router].
func (r router) Release(before *unstructured.Unstructured) *unstructured.Unstructured {
	o := open(r.owner, before)
	o.dropRules()
	o.clearFields()
	o.close()
	if equality.Semantic.DeepEqual(before.Object, o.object.Object) {
		return before
	}
	return o.object
}
