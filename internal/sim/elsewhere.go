package sim

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Home is the namespace of all that a World plays.
const Home = "default"

// KeyOf is where an object is kept.
func KeyOf(o Object) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(o.GetNamespace(), Home), Name: o.GetName()}
}

// resident is an object of another namespace. Its kind stands beside it because typed objects do not carry theirs.
type resident struct {
	kind schema.GroupKind
	Object
}

// elsewhere are the objects of all other namespaces, the oldest first. The API server stores them, tells of them and guards writes to them
// as it does at home. No ReplicaSet controller runs for them and no garbage is collected: what becomes of them is up to the tenants who
// write them.
type elsewhere []resident

func (e elsewhere) index(kind schema.GroupKind, key types.NamespacedName) int {
	return slices.IndexFunc(e, func(r resident) bool { return r.kind == kind && KeyOf(r.Object) == key })
}

func (e elsewhere) of(kind schema.GroupKind) []Object {
	var found []Object
	for _, r := range e {
		if r.kind == kind {
			found = append(found, r.Object)
		}
	}
	return found
}

// Put stores an object of another namespace just as a tenant wrote it, with its status and its owner references, whether it is there or not.
// What an API server decides stays with the API server: UIDs and versions.
func (s Server) Put(kind schema.GroupKind, o Object) {
	if KeyOf(o).Namespace == Home {
		panic(fmt.Sprintf("%s %s is at home: it has verbs of its own", kind.Kind, o.GetName()))
	}
	o = o.DeepCopyObject().(Object)
	o.SetDeletionTimestamp(nil)
	if rs, ok := o.(*appsv1.ReplicaSet); ok && rs.Spec.Replicas == nil {
		rs.Spec.Replicas = new(int32(1)) // as an API server fills it in
	}
	at := s.elsewhere.index(kind, KeyOf(o))
	if at < 0 {
		o.SetUID(s.nextUID())
		o.SetCreationTimestamp(s.time())
		o.SetGeneration(1)
		o.SetResourceVersion(s.nextVersion())
		s.elsewhere = append(slices.Clone(s.elsewhere), resident{kind, o})
		s.notify()
		return
	}
	have := s.elsewhere[at].Object
	o.SetUID(have.GetUID())
	o.SetCreationTimestamp(have.GetCreationTimestamp())
	s.replaceElsewhere(kind, have, o)
}

// replaceElsewhere puts an object in the place of another. The generation counts changes of the spec, where anybody reads it.
func (s Server) replaceElsewhere(kind schema.GroupKind, have, o Object) {
	o.SetGeneration(have.GetGeneration())
	if respecified(have, o) {
		o.SetGeneration(have.GetGeneration() + 1)
	}
	o.SetResourceVersion(s.nextVersion())
	all := slices.Clone(s.elsewhere)
	all[all.index(kind, KeyOf(o))].Object = o
	s.elsewhere = all
	s.notify()
}

func respecified(have, now Object) bool {
	switch now := now.(type) {
	case *v1alpha1.Rollout:
		return !equality.Semantic.DeepEqual(have.(*v1alpha1.Rollout).Spec, now.Spec)
	case *appsv1.ReplicaSet:
		return !equality.Semantic.DeepEqual(have.(*appsv1.ReplicaSet).Spec, now.Spec)
	}
	return false
}

// Remove takes an object of another namespace away, if it is there.
func (s Server) Remove(kind schema.GroupKind, key types.NamespacedName) {
	if at := s.elsewhere.index(kind, key); at >= 0 {
		s.elsewhere = slices.Delete(slices.Clone(s.elsewhere), at, at+1)
		s.notify()
	}
}

// createElsewhere stores a new object that a client asks for.
func (s Server) createElsewhere(kind schema.GroupKind, o Object) (Object, error) {
	if s.elsewhere.index(kind, KeyOf(o)) >= 0 {
		return nil, apierrors.NewAlreadyExists(resourceOf(kind), o.GetName())
	}
	s.Put(kind, o)
	return s.Get(kind, KeyOf(o)), nil
}

// deleteElsewhere takes an object away if it is the one that is meant.
func (s Server) deleteElsewhere(kind schema.GroupKind, key types.NamespacedName, is *metav1.Preconditions) error {
	have := s.Get(kind, key)
	if have == nil {
		return apierrors.NewNotFound(resourceOf(kind), key.Name)
	}
	if err := met(is, have, resourceOf(kind)); err != nil {
		return err
	}
	s.Remove(kind, key)
	return nil
}

// scaleElsewhere sets the size of a Deployment.
func (s Server) scaleElsewhere(key types.NamespacedName, version string, replicas int32) (Object, error) {
	kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	have, ok := s.Get(kind, key).(*appsv1.Deployment)
	switch {
	case !ok:
		return nil, apierrors.NewNotFound(resourceOf(kind), key.Name)
	case version != "" && version != have.ResourceVersion:
		return nil, apierrors.NewConflict(resourceOf(kind), key.Name, errModified)
	}
	next := have.DeepCopy()
	next.Spec.Replicas = &replicas
	s.replaceElsewhere(kind, have, next)
	return next, nil
}
