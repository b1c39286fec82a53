package world_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// The annotation is what a tenant may have written: an entry that is wrong costs itself only.
func TestElsewhere(t *testing.T) {
	for name, tc := range map[string]struct {
		recorded string
		routes   *v1alpha1.GatewayAPITrafficRouting
		want     []string
	}{
		"nothing":            {},
		"recorded":           {recorded: "httproute/edge/web,grpcroute/edge/api", want: []string{"grpcroute/edge/api", "httproute/edge/web"}},
		"in its own":         {recorded: "httproute/shop/web"},
		"of no known kind":   {recorded: "secret/edge/web, httproute/edge/web", want: []string{"httproute/edge/web"}},
		"of no name":         {recorded: "httproute/edge/,httproute//web,httproute,,httproute/a/b/c"},
		"named":              {routes: gateway("edge"), want: []string{"httproute/edge/web"}},
		"named in its own":   {routes: gateway("")},
		"named and recorded": {recorded: "httproute/edge/web,httproute/edge/old", routes: gateway("edge"), want: []string{"httproute/edge/old", "httproute/edge/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			ro := &v1alpha1.Rollout{}
			ro.Namespace, ro.Name = "shop", "web"
			ro.Annotations = map[string]string{v1alpha1.RoutesElsewhereAnnotation: tc.recorded}
			if tc.routes != nil {
				ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{GatewayAPI: tc.routes}}
			}
			var got []string
			for key := range maps.Keys(world.Elsewhere(ro)) {
				got = append(got, routers.FormatKey(key))
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// The controller reads every route that is recorded, from the API server where it has to: a tenant who records more than anybody names
// makes it read no more of them.
func TestElsewhereIsBounded(t *testing.T) {
	ro := &v1alpha1.Rollout{}
	ro.Namespace, ro.Name = "shop", "web"
	var entries []string
	for i := range 10_000 {
		entries = append(entries, fmt.Sprintf("httproute/edge/web-%d", i))
	}
	ro.Annotations = map[string]string{v1alpha1.RoutesElsewhereAnnotation: strings.Join(entries, ",")}
	if n := len(world.Elsewhere(ro)); n != 200 {
		t.Errorf("%d routes are believed, want 200", n)
	}
}

func gateway(namespace string) *v1alpha1.GatewayAPITrafficRouting {
	return &v1alpha1.GatewayAPITrafficRouting{Namespace: namespace, HTTPRoutes: []v1alpha1.GatewayAPIRoute{{Name: "web"}}}
}
