package plugin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Notes come back as they were written. What else someone writes there is no note, and what is too long is shortened.
func TestNotes(t *testing.T) {
	note := func(i int, config string) Asked {
		return Asked{Plugin: fmt.Sprintf("acme/edge-%02d", i), Config: config, Max: 100, Canary: "c", Stable: "s", Managed: []string{"beta"}}
	}
	notes := func(n int, config string) map[string]Asked {
		all := map[string]Asked{}
		for i := range n {
			all[note(i, config).Plugin] = note(i, config)
		}
		return all
	}
	long := `"` + strings.Repeat("x", longestNotes) + `"`
	for name, c := range map[string]struct {
		written string
		want    map[string]Asked
	}{
		"none":              {WriteNotes(nil), nil},
		"two":               {WriteNotes(notes(2, `{"a":1}`)), notes(2, `{"a":1}`)},
		"too many":          {WriteNotes(notes(20, "")), notes(mostNotes, "")},
		"with long configs": {WriteNotes(notes(1, long)), notes(1, "")},
		"no JSON":           {"x", nil},
		"another form":      {`{"plugin":"a/b"}`, nil},
		"without a name":    {`[{"config":"x"}]`, map[string]Asked{}},
		"too long":          {`["` + strings.Repeat("x", 3*longestNotes) + `"]`, nil},
		"of a weight":       {`[{"plugin":"a/b","weight":50,"returns":true}]`, map[string]Asked{"a/b": {Plugin: "a/b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			ro := &v1alpha1.Rollout{}
			ro.Annotations = map[string]string{v1alpha1.PluginRoutesAnnotation: c.written}
			if diff := cmp.Diff(c.want, Notes(ro)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A plugin finds its settings and the Services where they were, whatever the Rollout's strategy has become.
func TestNamed(t *testing.T) {
	note := Asked{Plugin: "acme/edge", Config: `{"region":"eu"}`, Canary: "c", Stable: "s", Managed: []string{"beta"}}
	for name, strategy := range map[string]v1alpha1.RolloutStrategy{
		"without a router": {Canary: &v1alpha1.CanaryStrategy{CanaryService: "other"}},
		"with another one": {Canary: &v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{Nginx: &v1alpha1.NginxTrafficRouting{}}}},
		"blue-green":       {BlueGreen: &v1alpha1.BlueGreenStrategy{ActiveService: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var ro v1alpha1.Rollout
			ro.Spec.Strategy = strategy
			before := ro.DeepCopy()
			canary := Named(ro, note).Spec.Strategy.Canary
			want := &v1alpha1.RolloutTrafficRouting{Plugins: map[string]json.RawMessage{"acme/edge": json.RawMessage(`{"region":"eu"}`)}, ManagedRoutes: []v1alpha1.ManagedRoute{{Name: "beta"}}}
			if canary.CanaryService != "c" || canary.StableService != "s" || cmp.Diff(want, canary.TrafficRouting) != "" {
				t.Errorf("got %+v", canary)
			}
			if diff := cmp.Diff(before, &ro); diff != "" {
				t.Errorf("the Rollout itself is changed: %s", diff)
			}
		})
	}
	if config := Named(v1alpha1.Rollout{}, Asked{Plugin: "a/b", Config: "x"}).Spec.Strategy.Canary.TrafficRouting.Plugins["a/b"]; string(config) != "{}" {
		t.Errorf("settings that are no JSON come as %s", config)
	}
}

// A plugin that was left owes a Rollout its traffic until it has returned all of it.
func TestOwners(t *testing.T) {
	name := types.NamespacedName{Namespace: "shop", Name: "web/acme/edge"}
	asked, returned := Asked{Plugin: "acme/edge", Max: 100, Weight: 50}, Asked{Plugin: "acme/edge", Max: 100}
	services, _, _ := unstructured.NestedSlice(Left(name, Asked{Canary: "c", Stable: "s"}, returned).Object, "spec", "services")
	if diff := cmp.Diff([]any{map[string]any{"service": "c"}, map[string]any{"service": "s"}}, services); diff != "" {
		t.Errorf("the Services of one that was left (-want +got)\n%s", diff)
	}
	for what, row := range map[string]struct {
		object *unstructured.Unstructured
		want   []types.NamespacedName
	}{
		"one that is named":                 {Object(name, Text(asked), "", ""), nil},
		"one that was left":                 {Left(name, asked, returned), []types.NamespacedName{{Namespace: "shop", Name: "web"}}},
		"one that was left and returned it": {Left(name, returned, returned), nil},
	} {
		if diff := cmp.Diff(row.want, Owners(row.object)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
}

// What the plugin was asked for last is in force, whatever else someone writes there is not.
func TestInForce(t *testing.T) {
	name := types.NamespacedName{Namespace: "shop", Name: "web/acme/edge"}
	asked := Asked{Plugin: "acme/edge", Max: 100, Weight: 50, Managed: []string{"beta"}}
	with := func(spec any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	}
	for what, row := range map[string]struct {
		object *unstructured.Unstructured
		want   bool
	}{
		"what was asked":   {with(map[string]any{"asked": Text(asked)}), true},
		"one that is left": {Left(name, asked, asked), true},
		"nothing":          {with(map[string]any{}), false},
		"an empty text":    {with(map[string]any{"asked": ""}), false},
		"no JSON":          {with(map[string]any{"asked": "x"}), false},
		"no text":          {with(map[string]any{"asked": int64(7)}), false},
		"no spec":          {with("x"), false},
	} {
		got, ok := InForce(row.object)
		if diff := cmp.Diff(asked, got); ok != row.want || ok && diff != "" {
			t.Errorf("%s: %t, want %t (-want +got)\n%s", what, ok, row.want, diff)
		}
	}
}
