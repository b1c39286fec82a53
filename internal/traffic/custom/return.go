package custom

import (
	"encoding/json"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sluice-delivery/sluice/internal/fieldpath"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// mostWeightBytes is how long the notes about weights may be in all. Weights that are not noted stay when the object is no longer named.
const mostWeightBytes = 16 << 10

// notedWeights is where the versions have weights while the canary has a part: two destinations of the lists at a path, or two fields. When no spec
// has the expressions any more that tell the destinations apart, these are known by what they were.
type notedWeights struct {
	// In is the path of the lists, and Weight that of the weight in their entries. Stable and Canary are the entries without it.
	In     string         `json:"in,omitempty"`
	Weight string         `json:"weight,omitempty"`
	Stable map[string]any `json:"stable,omitempty"`
	Canary map[string]any `json:"canary,omitempty"`
	// OfStable and OfCanary are the paths of fields with weights. The one of the stable version may be missing.
	OfStable string `json:"ofStable,omitempty"`
	OfCanary string `json:"ofCanary,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler]: whole numbers are read as the API server's are.
func (n *notedWeights) UnmarshalJSON(text []byte) error {
	var raw map[string]any
	if err := kjson.Unmarshal(text, &raw); err != nil {
		return err
	}
	for key, to := range map[string]*string{"in": &n.In, "weight": &n.Weight, "ofStable": &n.OfStable, "ofCanary": &n.OfCanary} {
		*to, _ = raw[key].(string)
	}
	n.Stable, _ = raw["stable"].(map[string]any)
	n.Canary, _ = raw["canary"].(map[string]any)
	return nil
}

// noteWeights notes where the versions have weights, once for lists that say the same.
func (o *object) noteWeights(n notedWeights) {
	if o.split.Canary.Weight == 0 || len(o.is.Weights) == most {
		return
	}
	for _, other := range o.is.Weights {
		if reflect.DeepEqual(other, n) {
			return
		}
	}
	all := append(slices.Clone(o.is.Weights), n)
	if text, err := json.Marshal(all); err == nil && len(text) <= mostWeightBytes {
		o.is.Weights = all
	}
}

// noteList notes the first destination of each version in a list.
func (o *object) noteList(w spec.CustomWeights, list []any, parts []part) {
	n := notedWeights{In: w.Destinations.String(), Weight: w.Weight.String()}
	for i := len(list) - 1; i >= 0; i-- {
		if parts[i] == neither {
			continue
		}
		entry := runtime.DeepCopyJSON(list[i].(map[string]any))
		for _, place := range w.Weight.Places(entry, false) {
			place.Remove()
		}
		if parts[i] == stable {
			n.Stable = entry
		} else {
			n.Canary = entry
		}
	}
	if len(n.Stable) > 0 && len(n.Canary) > 0 {
		o.noteWeights(n)
	}
}

// Return implements [traffic.Returner].
func (r router) Return(before *unstructured.Unstructured) *unstructured.Unstructured {
	o := open(r.owner, before)
	for _, n := range o.was.Weights {
		weight, err := fieldpath.Parse(n.Weight)
		switch {
		case n.In == "":
			n.returnFields(o.object.Object)
		case err == nil && len(n.Stable) > 0: // without the canary's entry, none is told from the stable one's
			for _, place := range placesOf(n.In, o.object.Object) {
				if list, ok := place.List(); ok {
					n.returnList(weight, list)
				}
			}
		}
	}
	return o.object
}

// returnList gives the weights of both versions to the first destination of the stable one.
func (n notedWeights) returnList(weight fieldpath.Path, list []any) {
	var mine []map[string]any
	var keeps map[string]any
	total := int64(0)
	for _, value := range list {
		entry, ok := value.(map[string]any)
		ofStable, ofCanary := ok && has(entry, n.Stable), ok && has(entry, n.Canary)
		if ofStable == ofCanary {
			continue // neither, or there is no telling
		}
		if ofStable && keeps == nil {
			keeps = entry
		}
		mine = append(mine, entry)
		if have, ok := number(weight, entry); ok {
			total += have
		}
	}
	if keeps == nil {
		return
	}
	for _, entry := range mine {
		setNumber(weight.Places(entry, true), 0)
	}
	setNumber(weight.Places(keeps, true), total)
}

func (n notedWeights) returnFields(in map[string]any) {
	total := int64(0)
	for _, path := range []string{n.OfCanary, n.OfStable} {
		for _, place := range placesOf(path, in) {
			if weight, ok := traffic.Number(place.Value()); ok && weight >= 0 && weight <= mostWeight {
				total += weight
			}
		}
	}
	if n.OfCanary == "" || n.OfStable != "" && len(placesOf(n.OfStable, in)) != 1 {
		return
	}
	setNumber(placesOf(n.OfCanary, in), 0)
	if n.OfStable != "" {
		setNumber(placesOf(n.OfStable, in), total)
	}
}
