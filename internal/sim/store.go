package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Home is the namespace of objects that name none.
const Home = "default"

// Object is what an API server keeps. What it hands out is not to be modified.
type Object interface {
	metav1.Object
	runtime.Object
}

// KeyOf is where an object is kept.
func KeyOf(o Object) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(o.GetNamespace(), Home), Name: o.GetName()}
}

// kindOf is the kind of an object. Typed objects do not carry theirs.
func kindOf(o Object) schema.GroupKind {
	group := v1alpha1.GroupVersion.Group
	switch o := o.(type) {
	case *v1alpha1.Rollout:
		return schema.GroupKind{Group: group, Kind: v1alpha1.KindRollout}
	case *v1alpha1.AnalysisRun:
		return schema.GroupKind{Group: group, Kind: v1alpha1.KindAnalysisRun}
	case *v1alpha1.Experiment:
		return schema.GroupKind{Group: group, Kind: v1alpha1.KindExperiment}
	case *v1alpha1.AnalysisTemplate:
		return schema.GroupKind{Group: group, Kind: v1alpha1.KindAnalysisTemplate}
	case *appsv1.ReplicaSet:
		return schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	case *appsv1.Deployment:
		return schema.GroupKind{Group: "apps", Kind: "Deployment"}
	case *corev1.Service:
		return schema.GroupKind{Kind: "Service"}
	case *corev1.Pod:
		return schema.GroupKind{Kind: "Pod"}
	case *unstructured.Unstructured:
		return o.GroupVersionKind().GroupKind()
	}
	panic(fmt.Sprintf("nobody keeps a %T here", o))
}

// objects are those of an API server, at home or in all other namespaces. Neither they nor lists of them are ever changed in place, so a copy
// of the struct is a copy of all of them, and stays as it is.
type objects struct {
	rollouts    collection[*v1alpha1.Rollout]
	replicaSets collection[*appsv1.ReplicaSet]
	services    collection[*corev1.Service]
	runs        collection[*v1alpha1.AnalysisRun]
	experiments collection[*v1alpha1.Experiment]
	templates   collection[*v1alpha1.AnalysisTemplate]
	deployments collection[*appsv1.Deployment]
	routes      collection[*unstructured.Unstructured] // of all kinds that routers write
}

// of are the objects of a kind, among others if it is one that routers write.
func (o *objects) of(kind schema.GroupKind) keeper {
	switch kind.Kind {
	case v1alpha1.KindRollout:
		return &o.rollouts
	case "ReplicaSet":
		return &o.replicaSets
	case "Service":
		return &o.services
	case v1alpha1.KindAnalysisRun:
		return &o.runs
	case v1alpha1.KindExperiment:
		return &o.experiments
	case v1alpha1.KindAnalysisTemplate:
		return &o.templates
	case "Deployment":
		return &o.deployments
	}
	return &o.routes
}

// keeper is a [collection] of whatever type.
type keeper interface {
	list(kind schema.GroupKind) []Object
	get(kind schema.GroupKind, key types.NamespacedName) Object
	refuses() string
	create(w *World, o Object)
	replace(w *World, o Object, status bool)
	delete(w *World, o Object)
	remove(w *World, gone func(Object) bool)
	orphan(w *World)
	own()
}

// collection is the objects of a type, in the order of their creation, and what watches have shown of them.
type collection[T Object] struct {
	now  []T
	past past[state[T]]
	// refused is why the API server rejects new ones, empty if it accepts them; taken are names that someone else uses.
	refused string
	taken   map[string]bool
}

// state is a collection at a time.
type state[T Object] struct {
	all []T
	// reported is how many of the world's losses and evictions the statuses of ReplicaSets have reported.
	reported reports
}

// list is all of a kind.
func (c *collection[T]) list(kind schema.GroupKind) []Object {
	out := make([]Object, 0, len(c.now))
	for _, o := range c.now {
		if kindOf(o) == kind {
			out = append(out, o)
		}
	}
	return out
}

func (c *collection[T]) index(kind schema.GroupKind, key types.NamespacedName) int {
	return slices.IndexFunc(c.now, func(o T) bool { return o.GetName() == key.Name && KeyOf(o) == key && kindOf(o) == kind })
}

// get is an object, nil if there is none.
func (c *collection[T]) get(kind schema.GroupKind, key types.NamespacedName) Object {
	if i := c.index(kind, key); i >= 0 {
		return c.now[i]
	}
	if !c.taken[key.Name] {
		return nil
	}
	stranger := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	stranger.SetNamespace(key.Namespace)
	stranger.SetName(key.Name)
	stranger.SetUID(types.UID("foreign-" + key.Name))
	stranger.SetResourceVersion("1")
	return stranger
}

// named is the object of a name, the zero value if there is none.
func (c *collection[T]) named(name string) (found T) {
	for _, o := range c.now {
		if o.GetName() == name {
			return o
		}
	}
	return found
}

// first is the oldest object, the zero value if there is none.
func (c *collection[T]) first() (found T) {
	if len(c.now) > 0 {
		found = c.now[0]
	}
	return found
}

func (c *collection[T]) refuses() string { return c.refused }

// take gives a name to someone else's object, which is in no cache.
func (c *collection[T]) take(name string) {
	c.taken = maps.Clone(c.taken)
	if c.taken == nil {
		c.taken = map[string]bool{}
	}
	c.taken[name] = true
}

// own notes that the newest state is the controller's, which no view goes back behind.
func (c *collection[T]) own() { c.past.unseen = 0 }

// create stores a new object.
func (c *collection[T]) create(w *World, o Object) {
	o.SetUID(types.UID(name("uid", w.nextNumber())))
	o.SetCreationTimestamp(w.time())
	o.SetGeneration(1)
	o = w.admit(nil, o)
	c.keep(w, append(slices.Clone(c.now), o.(T)), nil, o)
	w.created(o)
}

// replace stores an object in the place of the one of its name. The generation counts changes of the spec, where anybody reads it; where the
// status alone is written, there are none.
func (c *collection[T]) replace(w *World, o Object, status bool) {
	i := c.index(kindOf(o), KeyOf(o))
	was := c.now[i]
	o.SetUID(was.GetUID())
	o.SetCreationTimestamp(was.GetCreationTimestamp())
	o.SetGeneration(was.GetGeneration())
	if !status && respecified(was, o) {
		o.SetGeneration(was.GetGeneration() + 1)
	}
	o = w.admit(was, o)
	next := slices.Clone(c.now)
	next[i] = o.(T)
	c.keep(w, next, was, o)
}

// delete takes an object away.
func (c *collection[T]) delete(w *World, o Object) {
	c.keep(w, slices.DeleteFunc(slices.Clone(c.now), func(have T) bool { return Object(have) == o }), o, nil)
}

// remove takes objects away, all at once.
func (c *collection[T]) remove(w *World, gone func(Object) bool) {
	c.keep(w, slices.DeleteFunc(slices.Clone(c.now), func(o T) bool { return gone(o) }), nil, nil)
}

// orphan takes their owners from all objects.
func (c *collection[T]) orphan(w *World) {
	for _, o := range c.now {
		next := o.DeepCopyObject().(T)
		next.SetOwnerReferences(nil)
		c.replace(w, next, true)
	}
}

// keep is the only way in which a collection changes: was becomes is, if a single object changes. Then all watchers are notified.
func (c *collection[T]) keep(w *World, next []T, was, is Object) {
	c.now = next
	if any(c) == any(&w.objects.replicaSets) {
		w.muster()
	}
	c.past.add(state[T]{next, w.reported})
	w.tell(was, is)
}

// admit is what becomes of an object when it is stored: what the API server fills in, and a version.
func (w *World) admit(was, o Object) Object {
	switch have := o.(type) {
	case *v1alpha1.Rollout:
		if w.RoundTrip && w.atHome(o) {
			o = throughJSON(have)
		}
	case *v1alpha1.Experiment:
		if was == nil && w.atHome(o) {
			o = throughJSON(have)
		}
	case *appsv1.ReplicaSet:
		if have.Spec.Replicas == nil {
			have.Spec.Replicas = new(int32(1))
		}
		if was == nil {
			setDefaults(&have.Spec.Template)
		}
	case *appsv1.Deployment:
		setDefaults(&have.Spec.Template)
	}
	o.SetResourceVersion(w.nextVersion())
	return o
}

// throughJSON is an object as an API server hands it back.
func throughJSON[T any](o *T) *T {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	out := new(T)
	if err := json.Unmarshal(text, out); err != nil {
		panic(err)
	}
	return out
}

// respecified reports whether an object's spec is another, of those whose generation anybody reads.
func respecified(was, is Object) bool {
	switch is := is.(type) {
	case *v1alpha1.Rollout:
		return !equality.Semantic.DeepEqual(&was.(*v1alpha1.Rollout).Spec, &is.Spec)
	case *appsv1.ReplicaSet:
		return !equality.Semantic.DeepEqual(&was.(*appsv1.ReplicaSet).Spec, &is.Spec)
	case *appsv1.Deployment:
		return !equality.Semantic.DeepEqual(&was.(*appsv1.Deployment).Spec, &is.Spec)
	}
	return false
}

// nextVersion is a new resourceVersion.
func (w *World) nextVersion() string {
	w.version++
	return strconv.FormatInt(w.version, 10)
}

// nextNumber is for a name or a UID that nobody has had.
func (w *World) nextNumber() int {
	w.uid++
	return w.uid
}
