package alb

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// GVK is the version in which Ingresses are read and written.
var GVK = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}

// Kinds are those of the objects that the router writes.
func Kinds() []schema.GroupVersionKind { return []schema.GroupVersionKind{GVK} }

// New returns the router of a Rollout.
func New(owner traffic.Owner, a spec.ALB) traffic.Router { return router{owner, a} }

type router struct {
	owner traffic.Owner
	spec  spec.ALB
}

// Name implements [traffic.Router].
func (router) Name() string { return "ALB" }

// Features implements [traffic.Router].
func (router) Features() traffic.Features {
	return traffic.Features{Headers: true, ExactHeaders: true, Additional: true}
}

// Refs implements [traffic.Router].
func (r router) Refs() []traffic.Ref {
	var all []traffic.Ref
	for _, in := range r.spec.Ingresses {
		all = append(all, r.ref(in))
	}
	return all
}

func (r router) ref(in spec.NamedObject) traffic.Ref {
	return traffic.Ref{GroupVersionKind: GVK, NamespacedName: types.NamespacedName{Namespace: r.owner.Namespace, Name: in.Name}, Field: in.Field}
}

// root is the Service by whose name the Ingress refers to the action.
func (r router) root(s traffic.Split) string {
	if r.spec.RootService != "" {
		return r.spec.RootService
	}
	return s.Stable.Service
}

func (r router) actionKey(name string) string     { return r.spec.Prefix + "/actions." + name }
func (r router) conditionsKey(name string) string { return r.spec.Prefix + "/conditions." + name }

// Render implements [traffic.Router].
func (r router) Render(want traffic.Split, have traffic.Objects) (traffic.Objects, []spec.Problem) {
	out := traffic.Objects{}
	problems := traffic.InPercent(want, r.spec.Field)
	if len(problems) > 0 {
		return maps.Clone(have), problems
	}
	for _, in := range r.spec.Ingresses {
		key := r.ref(in).Key()
		before := have[key]
		if before == nil {
			problems = append(problems, spec.MissingObject(in.Field, "Ingress", in.Name, r.owner.Namespace))
			continue
		}
		after, problem := r.render(want, before)
		if problem != "" {
			problems = append(problems, spec.Problem{Field: in.Field, Text: problem})
		}
		out[key] = after
	}
	return out, append(problems, r.cannot(want)...)
}

// cannot says what of a split the load balancer has no word for.
func (r router) cannot(want traffic.Split) (problems []spec.Problem) {
	for _, route := range want.Routes {
		switch route := route.(type) {
		case traffic.HeaderRoute:
			if slices.ContainsFunc(route.Match, isNoExact) {
				problems = append(problems, spec.Problem{Field: r.spec.Field, Text: fmt.Sprintf(
					"SetHeaderRoute match value invalid. ALB supports 'exact' value only: change the matches of the managed route %q", route.Name)})
			}
		case traffic.MirrorRoute:
			problems = append(problems, spec.Problem{Field: r.spec.Field, Text: fmt.Sprintf(
				"the router cannot mirror requests: remove the step setMirrorRoute of the managed route %q", route.Name)})
		}
	}
	return problems
}

func isNoExact(m traffic.HeaderMatch) bool { return m.Value.Kind != traffic.Exact }

// render returns an Ingress as it should be, the one that is there if it is so. One with a problem stays as it is.
func (r router) render(want traffic.Split, before *unstructured.Unstructured) (after *unstructured.Unstructured, problem string) {
	root := r.root(want)
	switch names, byAction := refersTo(before.Object, root); {
	case !names:
		return before, fmt.Sprintf("ingress `%s` has no rules using service %s backend: add a path to the Service %q, with the port name %q", before.GetName(), root, root, byAnnotation)
	case !byAction:
		return before, fmt.Sprintf("ingress `%s` sends to Service %q past its weights: give its backend the port name %q instead of a port", before.GetName(), root, byAnnotation)
	}
	wanted := map[string]string{r.actionKey(root): forward(r.spec, destinations(want)...)}
	var routes []string
	for _, route := range want.Routes {
		header, ok := route.(traffic.HeaderRoute)
		if !ok || slices.ContainsFunc(header.Match, isNoExact) || header.Name == root {
			continue
		}
		routes = append(routes, header.Name)
		canary := want.Canary
		canary.Weight = v1alpha1.DefaultMaxTrafficWeight
		wanted[r.actionKey(header.Name)], wanted[r.conditionsKey(header.Name)] = forward(r.spec, canary), conditions(header, before.GetAnnotations()[r.conditionsKey(root)])
	}
	noted := readNotes(before.GetAnnotations())
	former := managed(noted.keys(r.owner.Name), want.Managed)
	rules, few := withPaths(rulesOf(before.Object), root, routes, former)
	if !few {
		return before, fmt.Sprintf("ingress `%s` would have more than %d paths for managed routes: give it fewer paths to Service %q, or list fewer managedRoutes",
			before.GetName(), mostPaths, root)
	}
	after = before.DeepCopy()
	after.Object["spec"].(map[string]any)["rules"] = rules // one of them leads to the root Service
	r.annotate(after, noted, wanted)
	if reflect.DeepEqual(before.Object, after.Object) {
		return before, ""
	}
	return after, ""
}

// destinations of a split, in the order in which the action lists them.
func destinations(want traffic.Split) []traffic.Destination {
	all := append([]traffic.Destination{want.Canary}, want.Additional...)
	return append(slices.DeleteFunc(all, func(d traffic.Destination) bool { return d.Service == "" }), want.Stable)
}

// managed are the names of managed routes: those that are noted, and those that the spec lists.
func managed(keys, listed []string) map[string]bool {
	all := map[string]bool{}
	for _, key := range keys {
		all[nameIn(key)] = true
	}
	for _, name := range listed {
		all[name] = true
	}
	return all
}

// annotate writes the annotations, notes them, and removes those that were noted and are not wanted.
func (r router) annotate(o *unstructured.Unstructured, noted notes, wanted map[string]string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for _, key := range noted.keys(r.owner.Name) {
		delete(annotations, key)
	}
	maps.Copy(annotations, wanted)
	noted[r.owner.Name] = slices.Sorted(maps.Keys(wanted))
	noted.write(annotations)
	o.SetAnnotations(annotations)
}

// Release implements [traffic.Router]. Everything goes to the stable Service, since nobody will correct the weights any more; the action stays,
// since the Ingress refers to it.
func (r router) Release(object *unstructured.Unstructured) *unstructured.Unstructured {
	noted := readNotes(object.GetAnnotations())
	if _, ok := noted[r.owner.Name]; !ok {
		return object
	}
	keys := noted.keys(r.owner.Name)
	conditional := map[string]bool{} // the routes that are chosen by a condition: their actions go, that of the root Service stays
	for _, key := range keys {
		if isConditions(key) {
			conditional[nameIn(key)] = true
		}
	}
	out := object.DeepCopy()
	annotations := out.GetAnnotations()
	for _, key := range keys {
		if old, there := annotations[key]; there && !conditional[nameIn(key)] {
			annotations[key] = released(old)
		} else {
			delete(annotations, key)
		}
	}
	delete(noted, r.owner.Name)
	noted.write(annotations)
	out.SetAnnotations(annotations)
	if rules, _ := withPaths(rulesOf(out.Object), "", nil, conditional); len(rules) > 0 {
		out.Object["spec"].(map[string]any)["rules"] = rules
	}
	return out
}
