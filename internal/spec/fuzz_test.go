package spec_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/manifests"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Resolving terminates for everything that can be stored as a Rollout: with problems that name their fields and say what is wrong, or with
// what to do. It does not change its input, and gives the same result every time.
func FuzzResolveText(f *testing.F) {
	for _, read := range []func() ([]manifests.Manifest, error){manifests.Good, manifests.Bad} {
		all, err := read()
		if err != nil {
			f.Fatal(err)
		}
		for _, m := range all {
			if m.Kind != v1alpha1.KindRollout {
				continue
			}
			text, err := json.Marshal(m.Object)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Add([]byte(`{"spec": {"strategy": {"canary": {"steps": [{}, {"pause": {"duration": "-9223372036854775809s"}}]}}}}`))
	f.Add([]byte(`{"spec": {"strategy": {"canary": {"trafficRouting": {}, "steps": [{"setHeaderRoute": {}}]}, "blueGreen": {}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var ro v1alpha1.Rollout
		if json.Unmarshal(text, &ro) != nil {
			return
		}
		given := ro.DeepCopy()
		first, problems := spec.Resolve(&ro)
		for _, p := range problems {
			if !strings.HasPrefix(p.Field, "spec.") && p.Field != "spec" || p.Text == "" {
				t.Errorf("a problem does not say where or what: %+v", p)
			}
		}
		same := cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }), cmp.Exporter(func(reflect.Type) bool { return true })}
		if diff := cmp.Diff(given, &ro, same); diff != "" {
			t.Errorf("resolving changed the Rollout:\n%s", diff)
		}
		again, others := spec.Resolve(&ro)
		if diff := cmp.Diff(problems, others, same); diff != "" {
			t.Errorf("problems the first time (-) and the second (+):\n%s", diff)
		}
		if diff := cmp.Diff(first, again, same); diff != "" {
			t.Errorf("resolved the first time (-) and the second (+):\n%s", diff)
		}
	})
}
