package traffic_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// An object is missing if the spec names it and it does not exist. What the router makes itself may not exist yet.
func TestMissingObjects(t *testing.T) {
	ref := func(kind, name, field string) traffic.Ref {
		return traffic.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: kind}, NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}, Field: field}
	}
	there := ref("Route", "there", "routes[0]")
	refs := []traffic.Ref{there, ref("Route", "gone", "routes[1]"), ref("Route", "own", ""), ref("Rule", "gone", "rules[0]")}
	found := traffic.MissingObjects(refs, "Route", traffic.Objects{there.Key(): &unstructured.Unstructured{}}, func(name string) traffic.Event {
		return traffic.Event{Reason: "RouteNotFound", Message: name}
	})
	if len(found) != 1 || found[0].Message != "gone" || found[0].Problem == "" {
		t.Errorf("missing are %+v, want the route gone", found)
	}
}
