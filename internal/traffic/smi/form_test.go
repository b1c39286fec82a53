package smi

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// TestForm holds a TrafficSplit with nothing for the canary against what each version of the specification writes.
func TestForm(t *testing.T) {
	r := New(traffic.Owner{Namespace: "shop", Name: "web", UID: types.UID("1")}, spec.SMI{})
	rendered, _ := r.Render(traffic.Split{Max: 100, Stable: traffic.Destination{Service: "s", Weight: 100}, Canary: traffic.Destination{Service: "c"}}, nil)
	o := rendered[r.Refs()[0].Key()]
	const numbers = `{"backends":[{"service":"c","weight":0},{"service":"s","weight":100}],"service":"s"}`
	for version, want := range map[string]string{
		"v1alpha1": `{"backends":[{"service":"c","weight":"0"},{"service":"s","weight":"100"}],"service":"s"}`,
		"v1alpha2": numbers, "v1alpha3": numbers, "v1alpha4": numbers,
	} {
		form := Form(o, version)
		if text, err := json.Marshal(form.Object["spec"]); err != nil || string(text) != want {
			t.Errorf("in %s it is %s, %v; want %s", version, text, err, want)
		}
		if read, ok := r.Weight(traffic.Split{Max: 100, Canary: traffic.Destination{Service: "c"}}, traffic.Objects{r.Refs()[0].Key(): form}); !ok || read.Most != 0 {
			t.Errorf("in %s the weight reads as %v, %t", version, read, ok)
		}
	}
}

// TestTheServiceIsRestored: a TrafficSplit that was made one of another Service by hand splits the requests to that one.
func TestTheServiceIsRestored(t *testing.T) {
	r := New(traffic.Owner{Namespace: "shop", Name: "web", UID: types.UID("1")}, spec.SMI{})
	split := traffic.Split{Max: 100, Stable: traffic.Destination{Service: "s", Weight: 80}, Canary: traffic.Destination{Service: "c", Weight: 20}}
	key := r.Refs()[0].Key()
	rendered, _ := r.Render(split, nil)
	edited := rendered[key].DeepCopy()
	edited.Object["spec"].(map[string]any)["service"] = "other"
	after, _ := r.Render(split, traffic.Objects{key: edited})
	if got := after[key].Object["spec"].(map[string]any)["service"]; got != "s" {
		t.Errorf("it splits what comes for %v", got)
	}
}

// TestLargeWeights: whatever the API server stores in 32 bits reads as it is, as a number and as a text.
func TestLargeWeights(t *testing.T) {
	const large = 1<<30 + 1
	for name, weight := range map[string]any{"a number": int64(large), "a text": "1073741825"} {
		if n, ok := number(weight); !ok || n != large {
			t.Errorf("%s: %d, %t", name, n, ok)
		}
	}
}

// TestWeightIsUnknown: what the Rollout did not write, or no mesh would carry out, shows no weight.
func TestWeightIsUnknown(t *testing.T) {
	r := New(traffic.Owner{Namespace: "shop", Name: "web", UID: types.UID("1")}, spec.SMI{})
	split := traffic.Split{Max: 100, Stable: traffic.Destination{Service: "s", Weight: 80}, Canary: traffic.Destination{Service: "c", Weight: 20}}
	key := r.Refs()[0].Key()
	rendered, _ := r.Render(split, nil)
	if read, ok := r.Weight(split, rendered); !ok || read.Most != 20 {
		t.Fatalf("what is rendered reads as %v, %t; want 20", read, ok)
	}
	weigh := func(weight any) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			o.Object["spec"].(map[string]any)["backends"].([]any)[0].(map[string]any)["weight"] = weight
		}
	}
	for name, change := range map[string]func(*unstructured.Unstructured){
		"of another controller": func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) },
		"without backends":      func(o *unstructured.Unstructured) { o.Object["spec"] = map[string]any{} },
		"a negative number":     weigh(int64(-1)),
		"a negative text":       weigh("-1"),
		"a negative number of a third": func(o *unstructured.Unstructured) {
			content := o.Object["spec"].(map[string]any)
			content["backends"] = append(content["backends"].([]any), map[string]any{"service": "x", "weight": int64(-20)})
		},
		"a number too large": weigh(int64(mostWeight + 1)),
	} {
		o := rendered[key].DeepCopy()
		change(o)
		if read, ok := r.Weight(split, traffic.Objects{key: o}); ok {
			t.Errorf("%s: the weight reads as %v, want none", name, read)
		}
	}
}
