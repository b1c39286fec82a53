package traffic

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/spec"
)

// Router splits traffic by the objects of one kind of proxy or gateway.
type Router interface {
	// Name is what people call it: "GatewayAPI", "Nginx". Metrics carry it.
	Name() string
	// Features are what it can do beyond weights.
	Features() Features
	// Refs are the objects that [Router.Render] reads or writes, in a stable order.
	Refs() []Ref
	// Render returns the objects of Refs as they should be. Those that are right already are returned as they are, those that are
	// missing in the answer and not in have are to be deleted. The objects in have are not modified.
	//
	// A problem is with what the spec or other people's objects say, and names the field of the Rollout's spec that leads there.
	// The answer then holds what could be rendered all the same: one broken object is no reason to leave the others behind.
	Render(want Split, have Objects) (Objects, []spec.Problem)
	// Weight reads the canary's weight from the objects, in units of [Split.Max]: the inverse of Render. The split names the Services; its
	// weights do not matter. What is read says nothing about the rest of the objects: that a split is in force is known when rendering it
	// changes nothing. It reports false if an object that carries a weight is missing, or shows none that can be read.
	Weight(of Split, have Objects) (Interval, bool)
	// Release returns an object of the router without what the router put there for this Rollout, except for weights, which stay as
	// they are. It is for objects that the Rollout does not name any more, or that outlive it. Nil: the object is to be deleted.
	Release(object *unstructured.Unstructured) *unstructured.Unstructured
}

// Returner is a [Router] that knows from its notes in an object which Service is the stable one.
type Returner interface {
	// Return returns an object with the Rollout's traffic on that Service.
	Return(object *unstructured.Unstructured) *unstructured.Unstructured
}

// Selector is a [Router] that finds some of its objects by their labels. Which these are it is told when it is made.
type Selector interface {
	Selections() []Selection
}

// Selection is the objects of a kind in the Rollout's namespace that have certain labels.
type Selection struct {
	schema.GroupVersionKind
	labels.Selector
	Namespace string
	// Field of the Rollout's spec that asks for them.
	Field string
}

// Selects reports whether an object is one of the selection.
func (s Selection) Selects(o *unstructured.Unstructured) bool {
	return o.GroupVersionKind().GroupKind() == s.GroupKind() && o.GetNamespace() == s.Namespace && s.Matches(labels.Set(o.GetLabels()))
}

// Features are what a router can do beyond weights for two versions.
type Features struct {
	// Headers and Mirrors: it takes [HeaderRoute]s and [MirrorRoute]s.
	Headers, Mirrors bool
	// ExactHeaders: it compares headers with whole values alone. WholeMirrors: it copies all requests or none, so its MirrorRoutes must match all.
	ExactHeaders, WholeMirrors bool
	// Additional: it takes destinations beyond the two versions.
	Additional bool
	// AnyMax: the weights may add up to other numbers than 100.
	AnyMax bool
}

// Owner is the Rollout that a router works for.
type Owner struct {
	Namespace, Name string
	UID             types.UID
}

// Ref names an object.
type Ref struct {
	schema.GroupVersionKind
	types.NamespacedName
	// Field of the Rollout's spec that names it, such as "spec.strategy.canary.trafficRouting.nginx.stableIngress". Empty for an
	// object that the router itself makes.
	Field string
}

// Key tells objects apart: a [Ref] without what is said about it.
type Key struct {
	schema.GroupVersionKind
	types.NamespacedName
}

// Key of the object that the reference names.
func (r Ref) Key() Key { return Key{r.GroupVersionKind, r.NamespacedName} }

// KeyOf is the key of an object.
func KeyOf(o *unstructured.Unstructured) Key {
	return Key{o.GroupVersionKind(), types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
}

// Objects are objects by their keys. One that does not exist is not there.
type Objects map[Key]*unstructured.Unstructured
