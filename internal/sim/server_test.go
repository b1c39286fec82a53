package sim

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// oneOfEach is an object of each kind that is stored, named web, in a namespace.
func oneOfEach(namespace string) map[string]Object {
	like := NewRollout("web", "v1", 1)
	all := map[string]Object{
		"Rollout":          like,
		"ReplicaSet":       &appsv1.ReplicaSet{ObjectMeta: like.ObjectMeta, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(1)), Template: like.Spec.Template}},
		"Deployment":       &appsv1.Deployment{ObjectMeta: like.ObjectMeta, Spec: appsv1.DeploymentSpec{Template: like.Spec.Template}},
		"Service":          &corev1.Service{ObjectMeta: like.ObjectMeta},
		"AnalysisRun":      &v1alpha1.AnalysisRun{ObjectMeta: like.ObjectMeta},
		"AnalysisTemplate": &v1alpha1.AnalysisTemplate{ObjectMeta: like.ObjectMeta},
		"Experiment":       &v1alpha1.Experiment{ObjectMeta: like.ObjectMeta},
		"HTTPRoute":        HTTPRoute("web", "web"),
		"Ingress":          Ingress("web", "web"),
	}
	for _, o := range all {
		o.SetNamespace(namespace)
	}
	return all
}

func labelled(o Object, value string) Object {
	o = o.DeepCopyObject().(Object)
	o.SetLabels(map[string]string{"a": value})
	return o
}

// TestWrites: of every kind and in every namespace the API server guards writes in the same way.
func TestWrites(t *testing.T) {
	for _, namespace := range []string{Home, "elsewhere"} {
		for kind, o := range oneOfEach(namespace) {
			t.Run(namespace+"/"+kind, func(t *testing.T) {
				s := New(Options{}).Server()
				if namespace != Home { // a tenant's
					s.Put(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "another"}})
				}
				for _, other := range oneOfEach(namespace) { // none is mistaken for one of another kind
					if kindOf(other) != kindOf(o) {
						if _, err := s.Create(other); err != nil {
							t.Fatal(err)
						}
					}
				}
				k, key := kindOf(o), KeyOf(o)
				if _, _, err := s.Update(labelled(o, "b"), false); !apierrors.IsNotFound(err) {
					t.Errorf("an update of what is not there: %v", err)
				}
				if err := s.Delete(k, key, nil); !apierrors.IsNotFound(err) {
					t.Errorf("a deletion of what is not there: %v", err)
				}
				made, err := s.Create(o.DeepCopyObject().(Object))
				if err != nil || made.GetUID() == "" || made.GetResourceVersion() == "" {
					t.Fatalf("%v was created: %v", made, err)
				}
				if _, err := s.Create(o.DeepCopyObject().(Object)); !apierrors.IsAlreadyExists(err) {
					t.Errorf("it is created twice: %v", err)
				}
				if now, changed, err := s.Update(made.DeepCopyObject().(Object), false); now != made || changed || err != nil {
					t.Errorf("an update that changes nothing is a write: %v", err)
				}
				now, changed, err := s.Update(labelled(made, "b"), false)
				if err != nil || !changed || now.GetResourceVersion() == made.GetResourceVersion() || now.GetUID() != made.GetUID() || now.GetLabels()["a"] != "b" {
					t.Errorf("%v became %v: %v", made, now, err)
				}
				if now.GetGeneration() != made.GetGeneration() {
					t.Error("the generation counts changes of labels")
				}
				if _, _, err := s.Update(labelled(made, "c"), false); !apierrors.IsConflict(err) {
					t.Errorf("an update of what has changed: %v", err)
				}
				unguarded := labelled(made, "d")
				unguarded.SetResourceVersion("")
				if _, _, err := s.Update(unguarded, false); err != nil {
					t.Errorf("an update without a version: %v", err)
				}
				for name, is := range map[string]metav1.Preconditions{
					"version": {UID: new(made.GetUID()), ResourceVersion: new(made.GetResourceVersion())}, "UID": {UID: new(types.UID("another"))},
				} {
					if err := s.Delete(k, key, &is); !apierrors.IsConflict(err) {
						t.Errorf("a deletion of what has another %s: %v", name, err)
					}
				}
				if err := s.Delete(k, key, &metav1.Preconditions{UID: new(made.GetUID())}); err != nil || s.Get(k, key) != nil {
					t.Errorf("it is not deleted: %v", err)
				}
			})
		}
	}
}

// TestStatus: where the status alone is written, nothing else is, and where it is kept apart, it is not written with the rest.
func TestStatus(t *testing.T) {
	s := New(Options{}).Server()
	apart := map[string]bool{"Rollout": true, "ReplicaSet": true, "Service": true}
	set := func(o Object) Object {
		o = labelled(o, "b")
		switch o := o.(type) {
		case *v1alpha1.Rollout:
			o.Status.Message = "b"
		case *v1alpha1.Experiment:
			o.Status.Message = "b"
		case *v1alpha1.AnalysisRun:
			o.Status.Message = "b"
		case *appsv1.ReplicaSet:
			o.Status.Replicas = 7
		case *corev1.Service:
			o.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "b"}}
		}
		return o
	}
	for kind, o := range oneOfEach(Home) {
		made, err := s.Create(o)
		if err != nil {
			t.Fatal(err)
		}
		switch kind {
		case "Rollout", "Experiment", "AnalysisRun":
			now, changed, err := s.Update(set(made), true)
			if err != nil || !changed || now.GetLabels()["a"] != made.GetLabels()["a"] || now.GetGeneration() != made.GetGeneration() {
				t.Errorf("%s: with its status something else was written: %v, %v", kind, now, err)
			}
			made = now
		case "ReplicaSet", "Service":
		default:
			continue // nobody reads their status
		}
		before, now := made, set(made)
		if apart[kind] {
			if ro, ok := now.(*v1alpha1.Rollout); ok {
				ro.Status.Message = "c"
			}
			want := labelled(before, "b")
			after, _, err := s.Update(now, false)
			if err != nil {
				t.Fatal(err)
			}
			want.SetResourceVersion(after.GetResourceVersion())
			if !equality.Semantic.DeepEqual(after, want) {
				t.Errorf("%s: with the rest its status was written: %v", kind, after)
			}
		}
	}
}

// TestRefusals: a refusal is in the API server's own words and comes before anything else is checked; a name that someone else uses is taken.
func TestRefusals(t *testing.T) {
	w := New(Options{})
	s, set := w.Server(), oneOfEach(Home)["ReplicaSet"]
	w.Take("web")
	if _, err := s.Create(set.DeepCopyObject().(Object)); !apierrors.IsAlreadyExists(err) || len(s.Objects(kindOf(set))) > 0 {
		t.Errorf("a name that is taken: %v", err)
	}
	w.Refuse("no more of these")
	if _, err := s.Create(set.DeepCopyObject().(Object)); !apierrors.IsForbidden(err) || err.Error() != "no more of these" {
		t.Errorf("what is refused: %v", err)
	}
	if w.Refuse(""); s.Get(kindOf(set), KeyOf(set)) == nil {
		t.Error("nobody has the name")
	}
}

// TestHomeIsWhereNoTenantIs: whatever the namespace of a Rollout, the cluster manages what is created for it.
func TestHomeIsWhereNoTenantIs(t *testing.T) {
	w := New(Options{PodStart: time.Second})
	ro := NewRollout("web", "v1", 2)
	ro.Namespace = "shop"
	w.Create(ro)
	w.Control(&Controller{Next: plan.Next})
	for range 100 {
		if !w.Step(w.Now().Add(time.Minute)) {
			break
		}
	}
	if phase := w.Rollout().Status.Phase; phase != v1alpha1.RolloutPhaseHealthy || !w.Due().IsZero() {
		t.Errorf("it is %s, and next something happens at %s", phase, w.Due())
	}
}

// TestCopyStays: a copy of what is stored stays as it is, whatever happens to the world.
func TestCopyStays(t *testing.T) {
	w := New(Options{})
	s := w.Server()
	for _, o := range oneOfEach(Home) {
		if _, err := s.Create(o); err != nil {
			t.Fatal(err)
		}
	}
	kept, before := w.objects, map[string]Object{}
	for kind, o := range oneOfEach(Home) {
		before[kind] = kept.of(kindOf(o)).get(kindOf(o), KeyOf(o)).DeepCopyObject().(Object)
		if _, _, err := s.Update(labelled(before[kind], "b"), false); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(kindOf(o), KeyOf(o), nil); err != nil {
			t.Fatal(err)
		}
	}
	for kind, o := range before {
		if have := kept.of(kindOf(o)).get(kindOf(o), KeyOf(o)); !equality.Semantic.DeepEqual(have, o) {
			t.Errorf("%s: %v became %v", kind, o, have)
		}
	}
}
