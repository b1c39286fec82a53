package e2e

import (
	"reflect"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
)

func TestMain(m *testing.M) {
	playtest.Main(m, playtest.WithGatewayAPI, playtest.WithRouters, playtest.WithIstio)
}

// server is a namespace of a real API server.
type server struct{ client client.Client }

// rollout creates a Rollout that no controller manages; what it owns is deleted with it.
func rollout(ns *playtest.Namespace) traffic.Owner {
	ro := ns.CreateRollout(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1"}]}
  strategy: {canary: {}}
`)
	owner := subjects.Rollout(ns.Name)
	owner.UID = ro.UID
	return owner
}

// world makes a world with the objects of a file, after those of the world before are gone.
func world(ns *playtest.Namespace, file string, clients ...client.Client) func(t testing.TB) conformance.World {
	return worldOf(ns, func(t testing.TB) traffic.Objects { return conformance.Load(t, file, ns.Name) }, clients...)
}

func worldOf(ns *playtest.Namespace, load func(testing.TB) traffic.Objects, clients ...client.Client) func(t testing.TB) conformance.World {
	s := server{client.WithFieldValidation(ns.Client, "Strict")}
	if len(clients) > 0 {
		s.client = clients[0]
	}
	return func(t testing.TB) conformance.World {
		objects := load(t)
		kinds := map[string]bool{}
		for key := range objects {
			if !kinds[key.Kind] {
				kinds[key.Kind] = true
				old := &unstructured.Unstructured{}
				old.SetGroupVersionKind(key.GroupVersionKind)
				if err := ns.Client.DeleteAllOf(t.Context(), old, client.InNamespace(ns.Name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.Apply(t, nil, objects)
		return s
	}
}

func (s server) Have(t testing.TB, refs []traffic.Ref) traffic.Objects {
	t.Helper()
	have := traffic.Objects{}
	for _, ref := range refs {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(ref.GroupVersionKind)
		switch err := s.client.Get(t.Context(), ref.NamespacedName, o); {
		case err == nil:
			have[ref.Key()] = o
		case !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
			t.Fatal(err)
		}
	}
	return have
}

func (s server) Apply(t testing.TB, before, after traffic.Objects) {
	t.Helper()
	for key, o := range before {
		if after[key] == nil {
			if err := s.client.Delete(t.Context(), o.DeepCopy()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for key, o := range after {
		var err error
		switch old := before[key]; {
		case old == nil:
			err = s.client.Create(t.Context(), o.DeepCopy())
		case !reflect.DeepEqual(old.Object, o.Object):
			err = s.client.Update(t.Context(), o.DeepCopy())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
