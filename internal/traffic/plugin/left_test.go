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
