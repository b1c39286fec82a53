package traefik

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

// Kinds are TraefikServices as Traefik 3 has them, and as Traefik 2 has them.
func Kinds() []schema.GroupVersionKind { return []schema.GroupVersionKind{current, former} }

var (
	current = schema.GroupVersionKind{Group: "traefik.io", Version: "v1alpha1", Kind: "TraefikService"}
	former  = schema.GroupVersionKind{Group: "traefik.containo.us", Version: "v1alpha1", Kind: "TraefikService"}
)

// New returns the router of a Rollout.
func New(owner traffic.Owner, t spec.Traefik) traffic.Router { return router{owner, t} }

type router struct {
	owner traffic.Owner
	spec  spec.Traefik
}

// Name implements [traffic.Router].
func (router) Name() string { return "Traefik" }

// Features implements [traffic.Router].
func (r router) Features() traffic.Features {
	return traffic.Features{AnyMax: true, Mirrors: r.mirrors(), WholeMirrors: r.mirrors()}
}

// mirrors reports whether the spec names a TraefikService with mirrors.
func (r router) mirrors() bool { return r.spec.Mirroring != "" }

// Refs implements [traffic.Router].
func (r router) Refs() []traffic.Ref {
	var all []traffic.Ref
	for _, gvk := range Kinds() {
		all = append(all, r.ref(gvk, r.spec.Service, r.spec.ServiceField))
	}
	if r.mirrors() {
		for _, gvk := range Kinds() {
			all = append(all, r.ref(gvk, r.spec.Mirroring, r.spec.MirroringField))
		}
	}
	return all
}

func (r router) ref(gvk schema.GroupVersionKind, name, field string) traffic.Ref {
	return traffic.Ref{GroupVersionKind: gvk, NamespacedName: types.NamespacedName{Namespace: r.owner.Namespace, Name: name}, Field: field}
}

// Render implements [traffic.Router].
func (r router) Render(want traffic.Split, have traffic.Objects) (traffic.Objects, []spec.Problem) {
	out := traffic.Objects{}
	problems := r.each(r.spec.Service, r.spec.ServiceField, have, out, func(o *unstructured.Unstructured) (*unstructured.Unstructured, string) {
		return r.render(want, o)
	})
	copied, refused := r.mirrorRoute(want)
	problems = append(problems, refused...)
	if r.mirrors() {
		problems = append(problems, r.each(r.spec.Mirroring, r.spec.MirroringField, have, out, func(o *unstructured.Unstructured) (*unstructured.Unstructured, string) {
			weighted := have[r.ref(o.GroupVersionKind(), r.spec.Service, "").Key()]
			return r.renderMirrors(want, copied, o, weighted)
		})...)
	}
	if len(want.Additional) > 0 {
		problems = append(problems, r.cannot("split traffic between more than two versions: remove the weights of the experiment's templates"))
	}
	return out, problems
}

// each renders the TraefikServices of a name, of which there is one in each group that has it.
func (r router) each(name, field string, have, out traffic.Objects, render func(*unstructured.Unstructured) (*unstructured.Unstructured, string)) (problems []spec.Problem) {
	found := false
	for _, gvk := range Kinds() {
		key := r.ref(gvk, name, field).Key()
		before := have[key]
		if before == nil {
			continue
		}
		after, problem := render(before)
		if problem != "" {
			problems = append(problems, spec.Problem{Field: field, Text: fmt.Sprintf("TraefikService %q of %s: %s", name, gvk.Group, problem)})
		}
		out[key], found = after, true
	}
	if !found {
		problems = append(problems, spec.MissingObject(field, "TraefikService", name, r.owner.Namespace))
	}
	return problems
}

func (r router) cannot(what string) spec.Problem {
	return spec.Problem{Field: r.spec.Field, Text: "the router cannot " + what}
}

// render returns a TraefikService with the weights of a split, the one that is there if it has them. One with a problem stays as it is.
func (r router) render(want traffic.Split, before *unstructured.Unstructured) (after *unstructured.Unstructured, problem string) {
	after = before.DeepCopy()
	services, ok := r.services(after)
	if !ok {
		return before, "spec.weighted.services was not found in traefik service manifest: list the Services " +
			fmt.Sprintf("%q and %q there", want.Stable.Service, want.Canary.Service)
	}
	for _, part := range []struct {
		traffic.Destination
		name string
	}{{want.Stable, "stable"}, {want.Canary, "canary"}} {
		entries := services[part.Service]
		if len(entries) == 0 {
			return before, fmt.Sprintf("traefik %s service was not found: list the Service %q in spec.weighted.services", part.name, part.Service)
		}
		weight := int64(part.Weight)
		for _, entry := range entries { // the first one carries it
			if read, ok := weightOf(entry); !ok || read != weight {
				entry["weight"] = weight
			}
			weight = 0
		}
	}
	notes := readNotes(before)
	notes.Set(r.owner, mark{Pair: note.PairOf(want)})
	notes.Write(after)
	if reflect.DeepEqual(before.Object, after.Object) {
		return before, ""
	}
	return after, ""
}

// services are the entries that lead to Services of the object's namespace, by their names.
func (r router) services(o *unstructured.Unstructured) (map[string][]map[string]any, bool) {
	content, _ := o.Object["spec"].(map[string]any)
	weighted, _ := content["weighted"].(map[string]any)
	list, ok := weighted["services"].([]any)
	if !ok {
		return nil, false
	}
	all := map[string][]map[string]any{}
	for _, value := range list {
		if name, ok := serviceOf(value, r.owner.Namespace); ok {
			all[name] = append(all[name], value.(map[string]any))
		}
	}
	return all, true
}

// serviceOf is the Service of a namespace to which an entry leads, if it does. The TraefikService is in this namespace too.
func serviceOf(value any, namespace string) (name string, ok bool) {
	entry, _ := value.(map[string]any)
	name, _ = entry["name"].(string)
	kind, _ := entry["kind"].(string)
	in, _ := entry["namespace"].(string)
	return name, name != "" && (kind == "" || kind == "Service") && (in == "" || in == namespace)
}

// weightOf is the weight of an entry. One that is not written means 1.
func weightOf(entry map[string]any) (int64, bool) {
	if entry["weight"] == nil {
		return 1, true
	}
	weight, ok := traffic.Number(entry["weight"])
	return weight, ok && weight >= 0
}

// Weight implements [traffic.Router].
func (r router) Weight(of traffic.Split, have traffic.Objects) (traffic.Interval, bool) {
	var all traffic.Interval
	found := false
	if r.mirrors() && !slices.ContainsFunc(Kinds(), func(gvk schema.GroupVersionKind) bool { return have[r.ref(gvk, r.spec.Mirroring, "").Key()] != nil }) {
		return traffic.Interval{}, false // nothing sends to the weighted ones
	}
	for _, gvk := range Kinds() {
		o := have[r.ref(gvk, r.spec.Service, "").Key()]
		if o == nil {
			continue
		}
		one, ok := r.weight(of, o)
		switch {
		case !ok:
			return traffic.Interval{}, false
		case found:
			all = all.And(one)
		default:
			all, found = one, true
		}
	}
	return all, found
}

func (r router) weight(of traffic.Split, o *unstructured.Unstructured) (traffic.Interval, bool) {
	services, ok := r.services(o)
	if !ok || len(services[of.Stable.Service]) == 0 || len(services[of.Canary.Service]) == 0 {
		return traffic.Interval{}, false
	}
	sum := func(entries []map[string]any) (sum int64) {
		for _, entry := range entries {
			weight, read := weightOf(entry)
			ok = ok && read && weight <= maxWeight
			sum += weight
		}
		return sum
	}
	canary, stable := sum(services[of.Canary.Service]), sum(services[of.Stable.Service])
	if !ok {
		return traffic.Interval{}, false
	}
	return traffic.Portion(canary, canary+stable, of.Max)
}

// maxWeight is more than anyone gives an entry, so that sums do not overflow.
const maxWeight = 1 << 31

// Release implements [traffic.Router].
func (r router) Release(object *unstructured.Unstructured) *unstructured.Unstructured {
	notes, out := readNotes(object), object.DeepCopy()
	is := notes.Of(r.owner)
	is.removeFrom(r.owner, out)
	notes.Set(r.owner, mark{})
	notes.Write(out)
	if reflect.DeepEqual(object.Object, out.Object) {
		return object
	}
	return out
}

// Return implements [traffic.Returner].
func (r router) Return(object *unstructured.Unstructured) *unstructured.Unstructured {
	notes, out := readNotes(object), object.DeepCopy()
	if services, ok := r.services(out); ok {
		notes.Of(r.owner).ToStable(services, weightOf, int64(v1alpha1.DefaultMaxTrafficWeight))
	}
	return out
}

// Owners are the Rollouts that have something noted in a TraefikService.
func Owners(object *unstructured.Unstructured) []types.NamespacedName {
	notes := readNotes(object)
	return notes.Names()
}
