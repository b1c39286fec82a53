package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Someone who reverts a route again and again is mentioned once a minute; what the Rollout itself changes is not.
func TestRoutesThatOthersChangeAreToldOnceAMinute(t *testing.T) {
	owner, m := types.NamespacedName{Namespace: "shop", Name: "web"}, newMemory()
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	route := func(service, version string) *unstructured.Unstructured {
		o := sim.HTTPRoute("web", service)
		o.SetResourceVersion(version)
		return o
	}
	for _, step := range []struct {
		story string
		to    *unstructured.Unstructured
		after time.Duration
		// restored: nothing but this is said of the write.
		restored, tell bool
	}{
		{"the first weight", route("a", "1"), 0, false, false},
		{"another weight", route("b", "2"), time.Second, false, false},
		{"another controller reverts it", route("b", "4"), 2 * time.Second, true, true},
		{"and again", route("b", "6"), 3 * time.Second, true, false},
		{"and for a minute", route("b", "98"), 61 * time.Second, true, false},
		{"and longer", route("b", "99"), 62 * time.Second, true, true},
		{"the first weight once more", route("a", "100"), 10 * time.Minute, false, false},
		{"the clock is set back, and another controller reverts it", route("a", "101"), time.Second, true, true},
	} {
		if restored, tell := m.restores(owner, step.to, start.Add(step.after)); restored != step.restored || tell != step.tell {
			t.Errorf("%s: restored %t, told %t", step.story, restored, tell)
		}
	}
	m.forgetsRoute(owner, traffic.KeyOf(route("a", "")))
	if restored, tell := m.restores(owner, route("a", "102"), start.Add(time.Hour)); restored || tell {
		t.Error("a route that was released is not restored")
	}
}
