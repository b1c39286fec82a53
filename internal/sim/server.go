package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Server is a World as clients of its API server see it: objects by kind, namespace and name, and writes under the rules of the real one. It
// tells of what was written as a World does of its own controller's writes.
type Server struct{ *World }

// Server is the World's API server.
func (w *World) Server() Server { return Server{w} }

// Object is what an API server keeps. What it hands out is not to be modified.
type Object interface {
	metav1.Object
	runtime.Object
}

// errModified is what a conflict says.
var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// Objects are those of a kind in all namespaces, the oldest first, those at home before others.
func (s Server) Objects(kind schema.GroupKind) []Object {
	return append(s.atHome(kind), s.elsewhere.of(kind)...)
}

func (s Server) atHome(kind schema.GroupKind) []Object {
	switch kind.Kind {
	case v1alpha1.KindRollout:
		if s.rollout != nil {
			return []Object{s.rollout}
		}
		return nil
	case "ReplicaSet":
		sets := make([]Object, len(s.sets))
		for i, set := range s.sets {
			sets[i] = set.ReplicaSet
		}
		return sets
	case "Service":
		return objects(s.services)
	case v1alpha1.KindAnalysisRun:
		return objects(s.analyses.runs)
	case v1alpha1.KindExperiment:
		return objects(s.experiments.all)
	case "AnalysisTemplate":
		return s.templates()
	case "Deployment":
		if s.deployment != nil {
			return []Object{s.deployment}
		}
		return nil
	case "Pod":
		return objects(s.PodObjects())
	}
	var routes []Object
	for _, o := range s.sortedRoutes() {
		if o.GroupVersionKind().GroupKind() == kind {
			routes = append(routes, o)
		}
	}
	return routes
}

func objects[T Object](of []T) []Object {
	out := make([]Object, len(of))
	for i, o := range of {
		out[i] = o
	}
	return out
}

func (s Server) templates() []Object {
	var out []Object
	for ref, template := range s.analyses.templates {
		if !ref.ClusterScope {
			out = append(out, &v1alpha1.AnalysisTemplate{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: ref.TemplateName, UID: types.UID("template-" + ref.TemplateName)}, Spec: *template,
			})
		}
	}
	slices.SortFunc(out, func(a, b Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}

// Get is the object of a kind that is kept under a key, nil if there is none.
func (s Server) Get(kind schema.GroupKind, key types.NamespacedName) Object {
	if key.Namespace != Home {
		if at := s.elsewhere.index(kind, key); at >= 0 {
			return s.elsewhere[at].Object
		}
		return nil
	}
	name := key.Name
	for _, o := range s.atHome(kind) {
		if o.GetName() == name {
			return o
		}
	}
	if kind.Kind == "ReplicaSet" && s.foreign[name] {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("foreign-" + name), ResourceVersion: "1"}}
	}
	return nil
}

// Create stores a new object.
func (s Server) Create(kind schema.GroupKind, o Object) (Object, error) {
	if KeyOf(o).Namespace != Home {
		return s.createElsewhere(kind, o)
	}
	resource := resourceOf(kind)
	refused := map[string]string{"ReplicaSet": s.refused, v1alpha1.KindAnalysisRun: s.analyses.refused, v1alpha1.KindExperiment: s.experiments.refused}[kind.Kind]
	switch {
	case s.Get(kind, KeyOf(o)) != nil, kind.Kind == v1alpha1.KindAnalysisRun && s.analyses.taken[o.GetName()]:
		return nil, apierrors.NewAlreadyExists(resource, o.GetName())
	case refused != "":
		return nil, apierrors.NewForbidden(resource, o.GetName(), errors.New(refused))
	}
	switch o := o.(type) {
	case *appsv1.ReplicaSet:
		s.createSet(o)
	case *v1alpha1.AnalysisRun:
		o.UID, o.CreationTimestamp = s.nextUID(), s.time()
		s.putRun(o)
		s.expect(o)
	case *v1alpha1.Experiment:
		s.CreateExperiment(o)
	case *corev1.Service:
		s.PutService(o)
	case *unstructured.Unstructured:
		s.PutRoute(o)
	default:
		return nil, fmt.Errorf("nobody creates a %s here", kind.Kind)
	}
	s.expectOwner(o)
	s.wrote()
	return s.Get(kind, KeyOf(o)), nil
}

func (s Server) nextUID() types.UID {
	s.uid++
	return types.UID(name("uid", s.uid))
}

func (s Server) wrote() {
	if s.Wrote != nil {
		s.Wrote()
	}
}

// Update stores an object in the place of the one that has its name and, where it carries one, its resourceVersion. Of the kinds that
// keep it apart either the status is written or all the rest. What changes nothing is no write.
func (s Server) Update(kind schema.GroupKind, o Object, status bool) (now Object, changed bool, err error) {
	have := s.Get(kind, KeyOf(o))
	resource := resourceOf(kind)
	switch {
	case have == nil:
		return nil, false, apierrors.NewNotFound(resource, o.GetName())
	case o.GetResourceVersion() != "" && o.GetResourceVersion() != have.GetResourceVersion():
		return nil, false, apierrors.NewConflict(resource, o.GetName(), errModified)
	}
	next, write := s.next(have, o, status)
	if write == nil {
		return nil, false, fmt.Errorf("nobody updates a %s here", kind.Kind)
	}
	next.SetUID(have.GetUID())
	next.SetCreationTimestamp(have.GetCreationTimestamp())
	next.SetResourceVersion(have.GetResourceVersion())
	next.SetGeneration(have.GetGeneration())
	if equality.Semantic.DeepEqual(have, next) {
		return have, false, nil
	}
	if KeyOf(o).Namespace != Home {
		s.replaceElsewhere(kind, have, next)
		return next, true, nil
	}
	write()
	s.wrote()
	return s.Get(kind, KeyOf(o)), true, nil
}

// next is what an object becomes, and what writes it; nil if nothing may.
func (s Server) next(have, o Object, status bool) (Object, func()) {
	switch o := o.(type) {
	case *v1alpha1.Rollout:
		now := have.(*v1alpha1.Rollout)
		if status {
			next := *now
			next.Status = o.Status
			return &next, func() { s.putStatus(&next) }
		}
		o.Status = now.Status
		return o, func() { s.put(o) }
	case *appsv1.ReplicaSet:
		o.Status = have.(*appsv1.ReplicaSet).Status
		return o, func() { s.putSet(s.set(o.Name), o) }
	case *corev1.Service:
		o.Status = have.(*corev1.Service).Status
		return o, func() { s.replaceService(o) }
	case *v1alpha1.AnalysisRun: // has no status of its own
		return o, func() {
			s.putRun(o)
			if s.Verdict != nil && o.Spec.Terminate && !hasEnded(o) {
				s.analyses.verdicts = append(s.analyses.verdicts, verdict{run: o.Name, phase: v1alpha1.AnalysisPhaseSuccessful, at: s.now.Add(s.Lag())})
			}
		}
	case *v1alpha1.Experiment:
		return o, func() { s.putExperiment(o) }
	case *unstructured.Unstructured:
		return o, func() { s.PutRoute(o) }
	case *corev1.Pod:
		return o, func() {
			s.pod(o.Name).podMeta = podMeta{labels: o.Labels, annotations: o.Annotations, version: s.nextVersion()}
		}
	}
	return o, nil
}

// Scale sets the size of the Deployment that is kept under a key.
func (s Server) Scale(key types.NamespacedName, version string, replicas int32) (Object, error) {
	if key.Namespace != Home {
		return s.scaleElsewhere(key, version, replicas)
	}
	name := key.Name
	resource := schema.GroupResource{Group: "apps", Resource: "deployments"}
	switch {
	case s.deployment == nil || s.deployment.Name != name:
		return nil, apierrors.NewNotFound(resource, name)
	case version != "" && version != s.deployment.ResourceVersion:
		return nil, apierrors.NewConflict(resource, name, errModified)
	}
	s.PutDeployment(func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas })
	s.wrote()
	return s.deployment, nil
}

// Delete deletes an object if it is the one that is meant, and still as it is meant; what it owns goes with it.
func (s Server) Delete(kind schema.GroupKind, key types.NamespacedName, is *metav1.Preconditions) error {
	if key.Namespace != Home {
		return s.deleteElsewhere(kind, key, is)
	}
	name := key.Name
	resource := resourceOf(kind)
	have := s.Get(kind, key)
	if have == nil {
		return apierrors.NewNotFound(resource, name)
	}
	if err := met(is, have, resource); err != nil {
		return err
	}
	switch kind.Kind {
	case "ReplicaSet":
		s.deleteSet(name)
	case "Service":
		s.DeleteService(name)
	case v1alpha1.KindAnalysisRun:
		s.putRuns(slices.DeleteFunc(slices.Clone(s.analyses.runs), func(run *v1alpha1.AnalysisRun) bool { return run.Name == name }))
	case v1alpha1.KindExperiment:
		s.DeleteExperiment(name)
	default:
		if _, route := have.(*unstructured.Unstructured); !route {
			return fmt.Errorf("nobody deletes a %s here", kind.Kind)
		}
		s.DeleteRoute(kind.Kind, name)
	}
	s.wrote()
	return nil
}

func met(is *metav1.Preconditions, have Object, resource schema.GroupResource) error {
	if is == nil {
		return nil
	}
	if is.UID != nil && *is.UID != have.GetUID() || is.ResourceVersion != nil && *is.ResourceVersion != have.GetResourceVersion() {
		return apierrors.NewConflict(resource, have.GetName(), errors.New("a precondition is not met"))
	}
	return nil
}

// Evict takes a pod away, if the PodDisruptionBudget allows.
func (s Server) Evict(key types.NamespacedName, is *metav1.Preconditions) error {
	kind := schema.GroupKind{Kind: "Pod"}
	if key.Namespace != Home {
		return s.deleteElsewhere(kind, key, is)
	}
	pod := key.Name
	resource := schema.GroupResource{Resource: "pods"}
	have := s.Get(kind, key)
	if have == nil {
		return apierrors.NewNotFound(resource, pod)
	}
	if err := met(is, have, resource); err != nil {
		return err
	}
	a := application{World: s.World, left: -1}
	a.done(func() { a.evict(have.(*corev1.Pod)) })
	if s.pod(pod) != nil {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	}
	return nil
}

// Reported is of how many of the world's losses and evictions the statuses of ReplicaSets tell.
func (s Server) Reported() (losses, evictions int) { return s.reported.losses, s.reported.evictions }

// resourceOf is what errors call a kind.
func resourceOf(kind schema.GroupKind) schema.GroupResource {
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
	return plural.GroupResource()
}
