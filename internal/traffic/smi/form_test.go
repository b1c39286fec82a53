package smi

import (
	"encoding/json"
	"testing"

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
