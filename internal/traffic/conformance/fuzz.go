package conformance

import (
	"maps"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Fuzz renders splits into whatever an object may hold: nothing panics, and rendering twice is rendering once. It begins with the objects
// of a file.
func Fuzz(f *testing.F, file string, router traffic.Router) {
	text, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	FuzzObjects(f, Parse(f, string(text), "shop"), router)
}

// FuzzObjects is [Fuzz] beginning with these objects.
func FuzzObjects(f *testing.F, objects traffic.Objects, router traffic.Router) {
	for _, o := range objects {
		seed, err := o.MarshalJSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed, int32(20))
	}
	f.Add([]byte(`{"spec":{"rules":[null,7,{"backendRefs":[null,{"name":"web-stable","weight":"x"},{"name":"web-stable","weight":1.5}],"matches":[1]}]}}`), int32(0))
	f.Add([]byte(`{"spec":{"rules":[{"http":{"paths":[{"backend":{"service":{"name":"web-stable"}}},7]}}],"tls":3}}`), int32(100))
	f.Add([]byte(`{"metadata":{"annotations":{"rollouts.argoproj.io/gatewayapi-notes":"{\"shop/web\":{\"services\":{\"web-canary\":null}}}"}},"spec":{"rules":{}}}`), int32(1))
	f.Fuzz(func(t *testing.T, text []byte, weight int32) {
		var content map[string]any
		if json.Unmarshal(text, &content) != nil {
			t.Skip("no object")
		}
		want := split(weight % 101)
		want.Routes = routes(router.Features())
		have := traffic.Objects{}
		for _, ref := range router.Refs() {
			o := &unstructured.Unstructured{Object: maps.Clone(content)}
			if o.Object == nil {
				o.Object = map[string]any{}
			}
			if metadata, ok := o.Object["metadata"].(map[string]any); ok {
				o.Object["metadata"] = maps.Clone(metadata)
			} else {
				delete(o.Object, "metadata")
			}
			o.SetGroupVersionKind(ref.GroupVersionKind)
			o.SetNamespace(ref.Namespace)
			o.SetName(ref.Name)
			have[ref.Key()] = o
		}
		before := copied(have)
		after, _ := router.Render(want, have)
		again, _ := router.Render(want, copied(after))
		if changed := difference(after, again); len(changed) > 0 {
			t.Errorf("rendering it again changes it: %v", changed)
		}
		if read, ok := router.Weight(want, have); ok && (read.Least < 0 || read.Most > want.Max || read.Least > read.Most) {
			t.Errorf("the weight of %d reads as %v", want.Max, read)
		}
		events(router, have, after)
		rejected(router, have, after)
		for _, o := range after {
			if r, ok := router.(traffic.Returner); ok {
				o = r.Return(o)
			}
			router.Release(o)
		}
		if changed := difference(before, have); len(changed) > 0 {
			t.Errorf("what was given is changed: %v", changed)
		}
	})
}
