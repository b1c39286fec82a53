package routers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
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
