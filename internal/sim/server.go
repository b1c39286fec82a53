package sim

import (
	"errors"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Server is a World as clients of its API server see it: objects by kind, namespace and name, and writes under the rules of the real one. Both
// tiers write through it, and it reports each write at home so that rules can be checked against it.
//
// Objects of tenants in other namespaces are stored and guarded like those at home. No ReplicaSet controller and no garbage collector runs
// for them: what becomes of them is up to the tenants who write them. All namespaces without tenants are home.
type Server struct{ *World }

// Server is the World's API server.
func (w *World) Server() Server { return Server{w} }

// errModified is what a conflict says.
var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// in are the objects of a namespace.
func (s Server) in(namespace string) *objects {
	if s.tenants[namespace] {
		return &s.elsewhere
	}
	return &s.objects
}

// Objects are those of a kind in all namespaces, the oldest first, those at home before others.
func (s Server) Objects(kind schema.GroupKind) []Object {
	if kind.Kind != "Pod" {
		return append(s.objects.of(kind).list(kind), s.elsewhere.of(kind).list(kind)...)
	}
	var pods []Object
	for _, pod := range s.PodObjects() {
		pods = append(pods, pod)
	}
	return pods
}

// Get is the object of a kind that is kept under a key, nil if there is none.
func (s Server) Get(kind schema.GroupKind, key types.NamespacedName) Object {
	if kind.Kind != "Pod" {
		return s.in(key.Namespace).of(kind).get(kind, key)
	}
	if set, p := s.pod(key.Name); p != nil && !s.tenants[key.Namespace] {
		return p.object(set)
	}
	return nil
}

// find is the object that a write is for, if it is the one that is meant.
func (s Server) find(kind schema.GroupKind, key types.NamespacedName, is *metav1.Preconditions) (Object, error) {
	have := s.Get(kind, key)
	switch {
	case have == nil:
		return nil, apierrors.NewNotFound(resourceOf(kind), key.Name)
	case is == nil:
	case is.ResourceVersion != nil && *is.ResourceVersion != have.GetResourceVersion(), is.UID != nil && *is.UID != have.GetUID():
		return nil, apierrors.NewConflict(resourceOf(kind), key.Name, errModified)
	}
	return have, nil
}

// Create stores a new object.
func (s Server) Create(o Object) (Object, error) {
	kind, key := kindOf(o), KeyOf(o)
	at := s.in(key.Namespace).of(kind)
	switch {
	case at.refuses() != "":
		return nil, forbidden(at.refuses())
	case at.get(kind, key) != nil:
		return nil, apierrors.NewAlreadyExists(resourceOf(kind), key.Name)
	}
	at.create(s.World, o)
	s.wrote(key)
	return at.get(kind, key), nil
}

// Update stores an object in the place of the one that has its name and, where it carries one, its resourceVersion: its status alone, or else all
// of it, but for the status where that is kept apart. What changes nothing is no write.
func (s Server) Update(o Object, status bool) (now Object, changed bool, err error) {
	kind, key := kindOf(o), KeyOf(o)
	version := o.GetResourceVersion()
	is := &metav1.Preconditions{ResourceVersion: &version}
	if version == "" {
		is = nil
	}
	have, err := s.find(kind, key, is)
	if err != nil {
		return nil, false, err
	}
	next := merged(have, o, status)
	next.SetUID(have.GetUID())
	next.SetCreationTimestamp(have.GetCreationTimestamp())
	next.SetResourceVersion(have.GetResourceVersion())
	next.SetGeneration(have.GetGeneration())
	if same(have, next, status) {
		return have, false, nil
	}
	if pod, ok := next.(*corev1.Pod); ok {
		err = s.label(pod)
	} else {
		s.in(key.Namespace).of(kind).replace(s.World, next, status)
	}
	if err != nil {
		return nil, false, err
	}
	s.wrote(key)
	return s.Get(kind, key), true, nil
}

// merged is an object with what is not being written as it was.
func merged(have, o Object, status bool) Object {
	switch o := o.(type) {
	case *v1alpha1.Rollout:
		next := *have.(*v1alpha1.Rollout)
		if status {
			next.Status = o.Status
			return &next
		}
		o.Status = next.Status
	case *v1alpha1.Experiment:
		if status {
			next := *have.(*v1alpha1.Experiment)
			next.Status = o.Status
			return &next
		}
	case *v1alpha1.AnalysisRun:
		if status {
			next := *have.(*v1alpha1.AnalysisRun)
			next.Status = o.Status
			return &next
		}
	case *appsv1.ReplicaSet:
		o.Status = have.(*appsv1.ReplicaSet).Status
	case *corev1.Service:
		o.Status = have.(*corev1.Service).Status
	}
	return o
}

// same reports whether a write changes nothing. Where a Rollout's status is written, that alone is compared: the rest takes longer.
func same(have, next Object, status bool) bool {
	if ro, ok := next.(*v1alpha1.Rollout); ok && status {
		return equality.Semantic.DeepEqual(&have.(*v1alpha1.Rollout).Status, &ro.Status)
	}
	return equality.Semantic.DeepEqual(have, next)
}

// label changes a pod's labels and annotations.
func (s Server) label(pod *corev1.Pod) error {
	if s.labelsRefused != "" {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod.Name, errors.New(s.labelsRefused))
	}
	_, p := s.pod(pod.Name)
	p.podMeta = podMeta{labels: pod.Labels, annotations: pod.Annotations, version: s.nextVersion()}
	return nil
}

// Scale sets the size of the Deployment that is kept under a key.
func (s Server) Scale(key types.NamespacedName, version string, replicas int32) (Object, error) {
	kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	have, err := s.find(kind, key, nil)
	if err != nil {
		return nil, err
	}
	next := have.DeepCopyObject().(*appsv1.Deployment)
	next.ResourceVersion, next.Spec.Replicas = version, &replicas
	now, _, err := s.Update(next, false)
	return now, err
}

// Delete deletes an object if it is the one that is meant, and still as it is meant; what it owns goes with it.
func (s Server) Delete(kind schema.GroupKind, key types.NamespacedName, is *metav1.Preconditions) error {
	have, err := s.find(kind, key, is)
	if err != nil {
		return err
	}
	s.in(key.Namespace).of(kind).delete(s.World, have)
	s.wrote(key)
	return nil
}

// Evict takes a pod away, if the PodDisruptionBudget allows.
func (s Server) Evict(key types.NamespacedName, is *metav1.Preconditions) error {
	if _, err := s.find(schema.GroupKind{Kind: "Pod"}, key, is); err != nil {
		return err
	}
	if !s.evict(key.Name) {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	}
	s.wrote(key)
	return nil
}

// Put stores an object of a tenant's namespace just as it was written, with its status and its owner references, whether it is there or not.
// What an API server decides stays with the API server: UIDs and versions.
func (s Server) Put(o Object) {
	kind, key := kindOf(o), KeyOf(o)
	if key.Namespace == Home {
		panic(fmt.Sprintf("%s %s is at home: it has verbs of its own", kind.Kind, key.Name))
	}
	if !s.tenants[key.Namespace] {
		all := map[string]bool{key.Namespace: true}
		maps.Copy(all, s.tenants)
		s.tenants = all
	}
	o = o.DeepCopyObject().(Object)
	o.SetDeletionTimestamp(nil)
	if at := s.elsewhere.of(kind); at.get(kind, key) == nil {
		at.create(s.World, o)
	} else {
		at.replace(s.World, o, false)
	}
}

// Remove takes an object of a tenant away, if it is there.
func (s Server) Remove(kind schema.GroupKind, key types.NamespacedName) {
	if o := s.elsewhere.of(kind).get(kind, key); o != nil {
		s.elsewhere.of(kind).delete(s.World, o)
	}
}

func (s Server) wrote(key types.NamespacedName) {
	if s.Wrote != nil && !s.tenants[key.Namespace] {
		s.Wrote()
	}
}

// Reported is of how many of the world's losses and evictions the statuses of ReplicaSets tell.
func (s Server) Reported() (losses, evictions int) { return s.reported.losses, s.reported.evictions }

// forbidden is the refusal of an API server, in its own words.
func forbidden(message string) error {
	err := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	err.ErrStatus.Message = message
	return err
}

// resourceOf is what errors call a kind.
func resourceOf(kind schema.GroupKind) schema.GroupResource {
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
	return plural.GroupResource()
}
