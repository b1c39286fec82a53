package routers_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	shown "github.com/sluice-delivery/sluice/internal/traffic/proxy"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// What is noted of Rollouts of other namespaces counts only where they may use the route.
func TestOwners(t *testing.T) {
	route := &unstructured.Unstructured{}
	route.SetAPIVersion("gateway.networking.k8s.io/v1")
	route.SetKind("HTTPRoute")
	route.SetNamespace("edge")
	for name, tc := range map[string]struct {
		admits string
		policy spec.Policy
		want   []string
	}{
		"by nobody's leave":       {want: []string{"edge/web"}},
		"by the route's owner":    {admits: "shop", want: []string{"edge/web", "shop/web"}},
		"by the operator":         {policy: spec.Policy{RouteNamespaces: []string{"edge"}}, want: []string{"bank/web", "edge/web", "shop/web"}},
		"by it for another place": {policy: spec.Policy{RouteNamespaces: []string{"shop"}}, want: []string{"edge/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			route.SetAnnotations(map[string]string{
				v1alpha1.GatewayAPINotesAnnotation:   `{"shop/web": {"label": "x"}, "edge/web": {"label": "x"}, "bank/web": {"label": "x"}}`,
				v1alpha1.RolloutNamespacesAnnotation: tc.admits,
			})
			var got []string
			for _, owner := range routers.Owners(route, tc.policy) {
				got = append(got, owner.String())
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("owners are %q, want %q", got, tc.want)
			}
		})
	}

	var notes []string
	for i := range 1000 {
		notes = append(notes, fmt.Sprintf(`"edge/r%03d": {"label": "x"}`, i))
	}
	route.SetAnnotations(map[string]string{v1alpha1.GatewayAPINotesAnnotation: "{" + strings.Join(notes, ",") + "}"})
	owners := routers.Owners(route, spec.Policy{})
	if len(owners) != 128 || owners[0] != (types.NamespacedName{Namespace: "edge", Name: "r000"}) {
		t.Errorf("of a thousand owners %d are believed, want 128", len(owners))
	}
}

// A Rollout that two routers name in one object is one owner.
func TestAnOwnerOfTwoRouters(t *testing.T) {
	yes := true
	ingress := &unstructured.Unstructured{}
	ingress.SetAPIVersion("networking.k8s.io/v1")
	ingress.SetKind("Ingress")
	ingress.SetNamespace("shop")
	ingress.SetName("web")
	ingress.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindRollout, Name: "web", UID: "1", Controller: &yes}})
	ingress.SetAnnotations(map[string]string{v1alpha1.ManagedALBAnnotationsAnnotation: `{"web":["alb.ingress.kubernetes.io/actions.s"],"other":["alb.ingress.kubernetes.io/actions.o"]}`})
	owners := routers.Owners(ingress, spec.Policy{})
	slices.SortFunc(owners, func(a, b types.NamespacedName) int { return strings.Compare(a.Name, b.Name) })
	if len(owners) != 2 || owners[0].Name != "other" || owners[1].Name != "web" {
		t.Errorf("owners are %v, want other and web", owners)
	}
}

// A kind that routers write is written by its name alone, and another one with its group and version.
func TestFormatKey(t *testing.T) {
	key := traffic.Key{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	for _, gvk := range routers.Kinds() {
		if spec.IsCustomKind(gvk.GroupKind()) {
			t.Errorf("%s has a router of its own, and the custom router takes it too: add it to the kinds of routers in package spec", gvk)
		}
	}
	for gvk, want := range map[schema.GroupVersionKind]string{
		{Group: "networking.istio.io", Version: "v1", Kind: "VirtualService"}: "virtualservice/shop/web",
		{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}:          "ingress/shop/web",
		{Group: "proxy.example.com", Version: "v2", Kind: "Proxy"}:            "Proxy.v2.proxy.example.com/shop/web",
	} {
		key.GroupVersionKind = gvk
		text := routers.FormatKey(key)
		if read, ok := routers.ParseKey(text); text != want || !ok || read != key {
			t.Errorf("%v is written %q, want %q, and read as %v, %t", key, text, want, read, ok)
		}
	}
}

// Where an object sends to a Service, in any of the forms that routers have for that.
func TestNames(t *testing.T) {
	for name, c := range map[string]struct {
		object string
		want   bool
	}{
		"a backend of the Gateway API":          {`{"spec": {"rules": [{"backendRefs": [{"name": "web"}]}]}}`, true},
		"another kind of that name":             {`{"spec": {"weighted": {"services": [{"name": "web", "kind": "TraefikService"}]}}}`, false},
		"a Service of Kuma":                     {`{"spec": {"to": [{"rules": [{"default": {"backendRefs": [{"kind": "MeshService", "name": "web"}]}}]}]}}`, true},
		"a Service as Kuma writes it":           {`{"spec": {"to": [{"targetRef": {"kind": "MeshServiceSubset", "name": "web_shop_svc_80"}}]}}`, true},
		"another one as Kuma writes it":         {`{"spec": {"to": [{"targetRef": {"kind": "MeshServiceSubset", "name": "web-2_shop_svc_80"}}]}}`, false},
		"a tag of Kuma":                         {`{"spec": {"sources": [{"match": {"kuma.io/service": "web_shop_svc_80"}}]}}`, true},
		"a host of Istio":                       {`{"spec": {"http": [{"route": [{"destination": {"host": "web.shop.svc"}}]}]}}`, true},
		"a backend of a TrafficSplit":           {`{"spec": {"backends": [{"service": "web"}]}}`, true},
		"a backend of an ApisixRoute":           {`{"spec": {"http": [{"backends": [{"serviceName": "web"}]}]}}`, true},
		"the address of a Mapping":              {`{"spec": {"service": "https://web.shop:8443/x"}}`, true},
		"the address of another one":            {`{"spec": {"service": "https://web-2.shop:8443/x"}}`, false},
		"an action of the AWS load balancer":    {`{"metadata": {"annotations": {"x/actions.r": "{\"ForwardConfig\":{\"TargetGroups\":[{\"ServiceName\":\"web\"}]}}"}}}`, true},
		"an annotation that is not an action":   {`{"metadata": {"annotations": {"x/notes": "{\"ServiceName\":\"web\"}"}}}`, false},
		"an action that is none":                {`{"metadata": {"annotations": {"x/actions.r": "web"}}}`, false},
		"a name that stands for something else": {`{"metadata": {"name": "web"}, "spec": {"hosts": ["web"]}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{}
			if err := json.Unmarshal([]byte(c.object), &o.Object); err != nil {
				t.Fatal(err)
			}
			if got := routers.Names(o, map[string]bool{"web": true}); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

// Of an Ingress two routers may have written, and each takes out what is its own.
func TestReleaseOfAnIngress(t *testing.T) {
	owner := traffic.Owner{Namespace: "shop", Name: "web"}
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("networking.k8s.io/v1")
	o.SetKind("Ingress")
	o.SetNamespace("shop")
	o.SetAnnotations(map[string]string{
		v1alpha1.ManagedALBAnnotationsAnnotation: `{"web":["x/actions.beta","x/conditions.beta"]}`, "x/actions.beta": "{}", "x/conditions.beta": "[]", "team": "blue",
	})
	if owners := routers.Owners(o, spec.Policy{}); len(owners) != 1 || owners[0].Name != "web" {
		t.Errorf("owners are %v", owners)
	}
	if released := routers.Release(owner, o); released == nil || len(released.GetAnnotations()) != 1 || released.GetAnnotations()["team"] != "blue" {
		t.Errorf("released it is %v", released)
	}
	if n := len(routers.Kinds()); n != len(slices.Compact(slices.SortedFunc(slices.Values(routers.Kinds()), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) }))) {
		t.Errorf("one of the %d kinds is there twice", n)
	}
}

// Kinds that only Rollouts name are told apart by their groups and versions; what is another router's is not among them.
func TestFurtherKinds(t *testing.T) {
	for _, gvk := range append(routers.Kinds(), proxy) {
		key := traffic.Key{GroupVersionKind: gvk, NamespacedName: types.NamespacedName{Namespace: "edge", Name: "web"}}
		if read, ok := routers.ParseKey(routers.FormatKey(key)); !ok || read.Kind != gvk.Kind || gvk == proxy && read != key {
			t.Errorf("%s is written as %s, and read as %s", key, routers.FormatKey(key), read)
		}
		if !routers.Writes(gvk) || spec.IsCustomKind(gvk.GroupKind()) != (gvk == proxy) {
			t.Errorf("%s belongs to the wrong router", gvk)
		}
	}
	for _, text := range []string{"Secret.v1.core/edge/web", "ReplicaSet.v1.apps/edge/web", "Rollout.v1alpha1.argoproj.io/edge/web", "HTTPRoute.v2.gateway.networking.k8s.io/edge/web"} {
		if key, ok := routers.ParseKey(text); ok {
			t.Errorf("%s is read as %s", text, key)
		}
	}
}

// An object that no spec names any more sends everything to the stable Service, by what is noted in it alone.
func TestReturn(t *testing.T) {
	owner := traffic.Owner{Namespace: "shop", Name: "web"}
	for name, tc := range map[string]struct {
		router spec.Router
		object string
	}{
		"a TraefikService": {
			spec.Traefik{Service: "web"},
			`{"apiVersion":"traefik.io/v1alpha1","kind":"TraefikService","spec":{"weighted":{"services":[{"name":"web-stable","weight":100},{"name":"web-canary","weight":0}]}}}`,
		},
		"an ApisixRoute": {
			spec.Apisix{Route: "web"},
			`{"apiVersion":"apisix.apache.org/v2","kind":"ApisixRoute","spec":{"http":[{"name":"web","backends":[{"serviceName":"web-stable","weight":100},{"serviceName":"web-canary","weight":0}]}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{}
			if err := o.UnmarshalJSON([]byte(tc.object)); err != nil {
				t.Fatal(err)
			}
			o.SetNamespace("shop")
			o.SetName("web")
			split := traffic.Split{Max: 100, Stable: traffic.Destination{Service: "web-stable", Weight: 40}, Canary: traffic.Destination{Service: "web-canary", Weight: 60}, InProgress: true}
			after, problems := routers.For(owner, []spec.Router{tc.router}, spec.Policy{})[0].Render(split, traffic.Objects{traffic.KeyOf(o): o})
			during := after[traffic.KeyOf(o)]
			if weights, _ := shown.Weights(during); len(problems) > 0 || weights["web-canary"] != 60 {
				t.Fatalf("it sends %v; %v", weights, problems)
			}
			if owners := routers.Owners(during, spec.Policy{}); len(owners) != 1 || owners[0] != (types.NamespacedName{Namespace: "shop", Name: "web"}) {
				t.Errorf("owners are %v", owners)
			}
			released := routers.Release(owner, during)
			if weights, _ := shown.Weights(released); weights["web-canary"] != 60 || released.GetAnnotations() != nil {
				t.Errorf("released, it sends %v and has the annotations %v", weights, released.GetAnnotations())
			}
			if returned := routers.Return(owner, during); !reflect.DeepEqual(returned.Object, o.Object) {
				t.Errorf("returned, it is %v, and was %v", returned, o)
			}
		})
	}
}
