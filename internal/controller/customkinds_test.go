package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Of all that the controller may patch these are the kinds in which Rollouts may have left something.
func TestCustomKinds(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	proxy := schema.GroupVersionKind{Group: "projectcontour.io", Version: "v1", Kind: "HTTPProxy"}
	for _, gvk := range []schema.GroupVersionKind{
		proxy,
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		{Group: "networking.istio.io", Version: "v1", Kind: "VirtualService"},
		{Group: "kuma.io", Version: "v1alpha1", Kind: "MeshHTTPRoute"},
	} {
		mapper.Add(gvk, meta.RESTScopeNamespace)
	}
	got, err := customKinds([]rule{
		{Verbs: []string{"get", "patch"}, APIGroups: []string{"apps", "networking.istio.io"}, Resources: []string{"replicasets", "virtualservices"}},
		{Verbs: []string{"get", "patch"}, APIGroups: []string{"projectcontour.io"}, Resources: []string{"httpproxies", "unheardof", "*"}},
		{Verbs: []string{"*"}, APIGroups: []string{"projectcontour.io", "*"}, Resources: []string{"httpproxies"}},
		{Verbs: []string{"get"}, APIGroups: []string{"kuma.io"}, Resources: []string{"meshhttproutes"}},
	}, mapper)
	if diff := cmp.Diff([]schema.GroupVersionKind{proxy}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// The author of a Rollout cannot change cluster-scoped objects, even if the controller has the right to.
func TestKindsOfNoNamespaceAreUnknown(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	shared := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "GlobalProxy"}
	owned := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Proxy"}
	mapper.Add(shared, meta.RESTScopeRoot)
	mapper.Add(owned, meta.RESTScopeNamespace)
	r := &routes{mapper: mapper}
	for gvk, want := range map[schema.GroupVersionKind]bool{shared: false, owned: true, owned.GroupVersion().WithKind("Other"): false} {
		if got, err := r.knows(gvk); got != want || err != nil {
			t.Errorf("%s: %t %v, want %t", gvk.Kind, got, err, want)
		}
	}
}
