package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// What a ReferenceGrant allows is what its owner wrote: Rollouts of one namespace, routes of a kind, one of them or all.
func TestWhatReferenceGrantsAllow(t *testing.T) {
	for name, c := range map[string]struct {
		grant string
		want  []spec.RouteConsent
	}{
		"one route": {
			`{from: [{group: argoproj.io, kind: Rollout, namespace: team-a}], to: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}]}`,
			[]spec.RouteConsent{{From: "team-a", Kind: gatewayKind("HTTPRoute"), Namespace: "edge", Name: "shop"}},
		},
		"all of two kinds, to two namespaces": {
			`{from: [{group: argoproj.io, kind: Rollout, namespace: a}, {group: argoproj.io, kind: Rollout, namespace: b}],
				to: [{group: gateway.networking.k8s.io, kind: GRPCRoute}, {group: gateway.networking.k8s.io, kind: TLSRoute}]}`,
			[]spec.RouteConsent{
				{From: "a", Kind: gatewayKind("GRPCRoute"), Namespace: "edge"},
				{From: "a", Kind: gatewayKind("TLSRoute"), Namespace: "edge"},
				{From: "b", Kind: gatewayKind("GRPCRoute"), Namespace: "edge"},
				{From: "b", Kind: gatewayKind("TLSRoute"), Namespace: "edge"},
			},
		},
		"routes that may name Services": {`{from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: a}], to: [{group: "", kind: Service}]}`, nil},
		"Services for Rollouts":         {`{from: [{group: argoproj.io, kind: Rollout, namespace: a}], to: [{group: "", kind: Service}]}`, nil},
		"a kind of another group": {
			`{from: [{group: argoproj.io, kind: Rollout, namespace: a}], to: [{group: example.com, kind: HTTPRoute}]}`,
			[]spec.RouteConsent{{From: "a", Kind: schema.GroupKind{Group: "example.com", Kind: "HTTPRoute"}, Namespace: "edge"}},
		},
		"another kind of ours":           {`{from: [{group: argoproj.io, kind: Experiment, namespace: a}], to: [{group: gateway.networking.k8s.io, kind: HTTPRoute}]}`, nil},
		"gateways":                       {`{from: [{group: argoproj.io, kind: Rollout, namespace: a}], to: [{group: gateway.networking.k8s.io, kind: Gateway}]}`, nil},
		"nobody":                         {`{from: [{group: argoproj.io, kind: Rollout}], to: [{group: gateway.networking.k8s.io, kind: HTTPRoute}]}`, nil},
		"what does not decode":           {`{from: 5, to: [{group: gateway.networking.k8s.io, kind: HTTPRoute}]}`, nil},
		"nothing, as it is without spec": {`{}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: map[string]any{}}
			var fields map[string]any
			if err := yaml.Unmarshal([]byte(c.grant), &fields); err != nil {
				t.Fatal(err)
			}
			object.Object["spec"] = fields
			object.SetNamespace("edge")
			if diff := cmp.Diff(c.want, consentsOf(object)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	policy := spec.Policy{Consents: []spec.RouteConsent{{From: "a", Kind: gatewayKind("HTTPRoute"), Namespace: "edge", Name: "shop"}}}
	for route, want := range map[[4]string]bool{
		{"a", "HTTPRoute", "edge", "shop"}: true, {"b", "HTTPRoute", "edge", "shop"}: false, {"a", "GRPCRoute", "edge", "shop"}: false,
		{"a", "HTTPRoute", "other", "shop"}: false, {"a", "HTTPRoute", "edge", "pay"}: false,
	} {
		if policy.AllowsRoute(route[0], gatewayKind(route[1]), route[2], route[3]) != want {
			t.Errorf("%v is allowed: %t, want %t", route, !want, want)
		}
	}
	if policy.AllowsRoute("a", schema.GroupKind{Group: "example.com", Kind: "HTTPRoute"}, "edge", "shop") {
		t.Error("consent for a kind of one group counts for another group")
	}
}

func gatewayKind(kind string) schema.GroupKind {
	return schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: kind}
}

// grantless is a cluster that lacks the kind, or does not let the controller list or watch it.
type grantless struct {
	meta.RESTMapper
	cache.Cache
	// known: the cluster knows the kind; filled: the controller may watch it.
	known, filled bool
	lists         int
}

func (g *grantless) RESTMapping(kind schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	if !g.known {
		return nil, &meta.NoKindMatchError{GroupKind: kind}
	}
	return &meta.RESTMapping{Scope: meta.RESTScopeNamespace}, nil
}

func (g *grantless) List(context.Context, client.ObjectList, ...client.ListOption) error {
	g.lists++
	return apierrors.NewForbidden(schema.GroupResource{Resource: "referencegrants"}, "", nil)
}

func (*grantless) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}

func (g *grantless) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return watching{filled: g.filled}, nil
}

// watching is a watch that has listed all, or that the API server refuses.
type watching struct {
	cache.Informer
	filled bool
}

func (w watching) HasSynced() bool { return w.filled }

// Without the kind, or the right to list and watch it, nothing is allowed and nothing fails; and a namespace is asked for once in a while only.
func TestReferenceGrantsNeedNotBeThere(t *testing.T) {
	for _, namespace := range []string{"", "team-a"} {
		for _, known := range []bool{false, true} {
			cluster := &grantless{known: known}
			watches := 0
			r := &routes{live: cluster, cache: cluster, mapper: cluster, namespace: namespace, grants: newGrants()}
			r.watch = func(cache.Cache, client.Object, handler.EventHandler) error {
				watches++
				return nil
			}
			now := time.Unix(1000, 0)
			for i := range 3 {
				consents, err := r.consents(t.Context(), "team-a", []string{"edge"}, now.Add(time.Duration(i)*time.Second))
				if err != nil || len(consents) > 0 {
					t.Errorf("it is known: %t; consents %v (%v)", known, consents, err)
				}
			}
			if known && cluster.lists != 1 {
				t.Errorf("%d lists in three seconds", cluster.lists)
			}
			if _, err := r.consents(t.Context(), "team-a", []string{"edge"}, now.Add(time.Minute)); err != nil || known && cluster.lists != 2 {
				t.Errorf("%d lists after a minute (%v)", cluster.lists, err)
			}
			if want := map[bool]int{true: 1}[known && namespace == ""]; watches != want {
				t.Errorf("%d watches, not %d, when the controller manages %q and the kind is known: %t", watches, want, namespace, known)
			}
			elsewhere := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web"}, Spec: v1alpha1.RolloutSpec{Strategy: v1alpha1.RolloutStrategy{
				Canary: &v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{GatewayAPI: &v1alpha1.GatewayAPITrafficRouting{HTTPRoute: "shop", Namespace: "edge"}}},
			}}}
			if !r.waitsForConsent(t.Context(), plan.Observed{Rollout: elsewhere}) {
				t.Error("a Rollout is not requeued although ReferenceGrants are not watched")
			}
			cluster.filled = true
			if watched := known && namespace == ""; r.waitsForConsent(t.Context(), plan.Observed{Rollout: elsewhere}) == watched {
				t.Errorf("grants are watched: %t; a Rollout that depends on them is looked at now and then: %t", watched, watched)
			}
			if diff := cmp.Diff([]string{"edge"}, indexElsewhere(elsewhere)); diff != "" {
				t.Errorf("the namespaces whose grants concern it (-want +got):\n%s", diff)
			}
		}
	}
	g := newGrants()
	for i := range 3 * mostRemembered {
		g.remember(fmt.Sprint("ns-", i), nil, time.Unix(0, 0))
	}
	if len(g.known) > mostRemembered {
		t.Errorf("%d namespaces are remembered", len(g.known))
	}
}
