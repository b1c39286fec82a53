package custom

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/celexpr"
	"github.com/sluice-delivery/sluice/internal/fieldpath"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/note"
)

// mark is what a Rollout has put into an object, and where its weights are.
type mark struct {
	Rules   []notedRule    `json:"rules,omitempty"`
	Fields  []notedField   `json:"fields,omitempty"`
	Weights []notedWeights `json:"weights,omitempty"`
}

// notedRule is a rule as it was written, and the path of the lists in which it may be.
type notedRule struct {
	In   string         `json:"in"`
	Rule map[string]any `json:"rule"`
}

// UnmarshalJSON implements [json.Unmarshaler]: whole numbers are read as the API server's are.
func (n *notedRule) UnmarshalJSON(text []byte) error {
	var raw map[string]any
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	n.In, _ = raw["in"].(string)
	n.Rule, _ = raw["rule"].(map[string]any)
	return nil
}

// notedField is a field that was set, and to what.
type notedField struct {
	Path   string `json:"path"`
	Values []any  `json:"values"`
}

// most is how many rules, fields, and weights of a note are believed.
const most = 64

func readNotes(o *unstructured.Unstructured) note.Notes[mark] {
	return note.Read[mark](o, v1alpha1.CustomNotesAnnotation)
}

// object is one that is being rendered.
type object struct {
	owner  traffic.Owner
	object *unstructured.Unstructured
	split  traffic.Split
	notes  note.Notes[mark]
	// was is what is noted of the Rollout, is what will be.
	was, is mark
	// dropped are the rules that were taken out, by those of the note that they are.
	dropped []droppedRule
	budget  celexpr.Budget
}

type droppedRule struct {
	noted notedRule
	rule  any
}

func open(owner traffic.Owner, before *unstructured.Unstructured) *object {
	o := &object{owner: owner, object: before.DeepCopy(), notes: readNotes(before)}
	o.was = o.notes.Of(owner)
	o.was.Rules, o.was.Fields = o.was.Rules[:min(most, len(o.was.Rules))], o.was.Fields[:min(most, len(o.was.Fields))]
	o.was.Weights = o.was.Weights[:min(most, len(o.was.Weights))]
	return o
}

func (o *object) close() {
	o.notes.Set(o.owner, o.is)
	o.notes.Write(o.object)
}

// eval evaluates an expression with the variables that all have, and more.
func (o *object) eval(e celexpr.Expression, variables map[string]any) (any, error) {
	variables["object"] = o.object.Object
	variables["stable"] = version(o.split.Stable)
	variables["canary"] = version(o.split.Canary)
	return o.budget.Eval(e, variables)
}

func version(d traffic.Destination) map[string]any {
	return map[string]any{"service": d.Service, "hash": d.Hash}
}

// dropRules takes out the rules that are noted.
func (o *object) dropRules() {
	for _, noted := range o.was.Rules {
		for _, place := range placesOf(noted.In, o.object.Object) {
			list, ok := place.List()
			i := slices.IndexFunc(list, func(rule any) bool { return has(rule, noted.Rule) })
			if !ok || i < 0 || len(noted.Rule) == 0 {
				continue
			}
			o.dropped = append(o.dropped, droppedRule{noted, list[i]})
			place.Set(slices.Delete(slices.Clone(list), i, i+1))
			break
		}
	}
}

// clearFields removes the fields that are noted, as far as they have a value of ours still.
func (o *object) clearFields() {
	for _, noted := range o.was.Fields {
		for _, place := range placesOf(noted.Path, o.object.Object) {
			if slices.ContainsFunc(noted.Values, func(value any) bool { return has(place.Value(), value) }) {
				place.Remove()
			}
		}
	}
}

// placesOf are the places at a path that a note has, which anybody may have written.
func placesOf(text string, in map[string]any) []fieldpath.Place {
	path, err := fieldpath.Parse(text)
	if err != nil || path.Root() != "spec" || len(path) == 1 {
		return nil
	}
	return path.Places(in, false)
}

// has reports whether a value has all that another one has.
func has(value, all any) bool {
	switch want := all.(type) {
	case map[string]any:
		is, ok := value.(map[string]any)
		if !ok {
			return false
		}
		for key, part := range want {
			if !has(is[key], part) {
				return false
			}
		}
		return true
	case []any:
		is, ok := value.([]any)
		return ok && slices.EqualFunc(is, want, has)
	}
	if a, ok := traffic.Number(all); ok {
		b, ok := traffic.Number(value)
		return ok && a == b
	}
	return scalar(value) && value == all
}

func scalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
