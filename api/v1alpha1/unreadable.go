package v1alpha1

import (
	"bytes"
	"encoding/json"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Unreadable is the fields of a stored object whose values do not fit the API, such as a memory quantity that does not
// parse.
//
// An API server stores what the CRD's schema allows, and a schema allows more than Go types can hold. Objects are decoded in
// lists and watches of whole clusters, so one object that failed to decode would fail all the others. Instead, every kind of
// this package decodes what it can and keeps the rest here: the listed fields are empty in the Go value, whatever is stored.
//
// The controller must not act on an object with unreadable fields, and must not write it back as a whole: patch only what
// changes.
type Unreadable []UnreadableField

// UnreadableField is one field that does not fit the API.
type UnreadableField struct {
	// Path of the field, as users write it: spec.template.spec.containers[0].resources.requests.memory.
	Path string `json:"path"`
	// Text says what the value is and what to write instead.
	Text string `json:"text"`
}

func (f UnreadableField) String() string { return f.Path + ": " + f.Text }

// Of returns the fields at or below a top-level field, such as spec.
func (u Unreadable) Of(field string) Unreadable {
	var below Unreadable
	for _, f := range u {
		if rest, ok := strings.CutPrefix(f.Path, field); ok && (rest == "" || strings.ContainsAny(rest[:1], ".[")) {
			below = append(below, f)
		}
	}
	return below
}

func (u Unreadable) String() string {
	texts := make([]string, len(u))
	for i, f := range u {
		texts[i] = f.String()
	}
	return strings.Join(texts, "; ")
}

// The types without their own way to be decoded.
type (
	plainRollout                 Rollout
	plainAnalysisTemplate        AnalysisTemplate
	plainClusterAnalysisTemplate ClusterAnalysisTemplate
	plainAnalysisRun             AnalysisRun
	plainExperiment              Experiment
)

// UnmarshalJSON decodes as much as fits, and keeps the rest in Unreadable. It fails only for input that is not a JSON
// object.
func (r *Rollout) UnmarshalJSON(text []byte) error {
	unreadable, err := decode(text, (*plainRollout)(r))
	r.Unreadable = unreadable
	return err
}

// UnmarshalJSON decodes as much as fits, and keeps the rest in Spec.Unreadable. It fails only for input that is not a JSON
// object.
func (t *AnalysisTemplate) UnmarshalJSON(text []byte) error {
	unreadable, err := decode(text, (*plainAnalysisTemplate)(t))
	t.Spec.Unreadable = unreadable.Of("spec")
	return err
}

// UnmarshalJSON decodes as much as fits, and keeps the rest in Spec.Unreadable. It fails only for input that is not a JSON
// object.
func (t *ClusterAnalysisTemplate) UnmarshalJSON(text []byte) error {
	unreadable, err := decode(text, (*plainClusterAnalysisTemplate)(t))
	t.Spec.Unreadable = unreadable.Of("spec")
	return err
}

// UnmarshalJSON decodes as much as fits, and keeps the rest in Unreadable. It fails only for input that is not a JSON
// object.
func (r *AnalysisRun) UnmarshalJSON(text []byte) error {
	unreadable, err := decode(text, (*plainAnalysisRun)(r))
	r.Unreadable = unreadable
	return err
}

// UnmarshalJSON decodes as much as fits, and keeps the rest in Unreadable. It fails only for input that is not a JSON
// object.
func (e *Experiment) UnmarshalJSON(text []byte) error {
	unreadable, err := decode(text, (*plainExperiment)(e))
	e.Unreadable = unreadable
	return err
}

// decode parses the input directly if all of it fits, which is nearly always the case. Otherwise it parses it again field by
// field, to find the fields that do not fit.
func decode[T any](text []byte, into *T) (Unreadable, error) {
	if utiljson.Unmarshal(text, into) == nil {
		return withinLimits(into), nil
	}
	var stored any
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber() // as they are written, however large
	if err := numbers.Decode(&stored); err != nil {
		return nil, err
	}
	fitting, unreadable, err := whatFits[T](stored)
	if err != nil {
		return nil, err
	}
	var empty T
	*into = empty // of the first attempt, which stopped somewhere
	err = utiljson.Unmarshal(fitting, into)
	return append(unreadable, withinLimits(into)...), err
}
