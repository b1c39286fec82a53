package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	sigsjson "sigs.k8s.io/json"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/crd"
	"github.com/sluice-delivery/sluice/internal/manifests"
)

// What the Go types read they write again, under the same names and with the same values. All that they may add is empty
// objects, where a struct is a value and not a pointer.
func TestRoundTrip(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, m := range must(manifests.Good())(t) {
		t.Run(m.Name, func(t *testing.T) {
			typed, err := scheme.New(v1alpha1.GroupVersion.WithKind(m.Kind))
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(m.Object)
			if err != nil {
				t.Fatal(err)
			}
			strict, err := sigsjson.UnmarshalStrict(text, typed)
			if err != nil || len(strict) > 0 {
				t.Fatal(err, strict)
			}
			if text, err = json.Marshal(typed.DeepCopyObject()); err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := utiljson.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			for _, difference := range compare("", m.Object, got) {
				t.Error(difference)
			}
		})
	}
}

// compare tells where got lacks or changes what want has, and where it has more than empty objects that want has not.
func compare(path string, want, got any) []string {
	switch want := want.(type) {
	case nil:
		if isEmpty(got) {
			return nil
		}
	case map[string]any:
		// An empty template beside a workloadRef is none.
		if path == ".spec.template" && len(want) == 0 && got == nil {
			return nil
		}
		got, ok := got.(map[string]any)
		if !ok {
			break
		}
		var differences []string
		for name, value := range want {
			differences = append(differences, compare(path+"."+name, value, got[name])...)
		}
		for name, value := range got {
			if _, wanted := want[name]; !wanted {
				differences = append(differences, compare(path+"."+name, nil, value)...)
			}
		}
		return differences
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			// An empty list is left out.
			if len(want) == 0 && got == nil {
				return nil
			}
			break
		}
		var differences []string
		for i := range want {
			differences = append(differences, compare(fmt.Sprintf("%s[%d]", path, i), want[i], got[i])...)
		}
		return differences
	default:
		// A false, 0 or "" may be left out.
		if want == got || (got == nil && reflect.ValueOf(want).IsZero()) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: read %v, wrote %v", path, want, got)}
}

func isEmpty(value any) bool {
	object, ok := value.(map[string]any)
	if !ok {
		return value == nil
	}
	for _, v := range object {
		if !isEmpty(v) {
			return false
		}
	}
	return true
}

// Every field of the schema is in one of the good manifests, so that TestRoundTrip has seen it.
func TestEveryFieldHasAnExample(t *testing.T) {
	shown := make(map[string]bool)
	for _, m := range must(manifests.Good())(t) {
		collectPaths(m.Kind, m.Object, shown)
	}
	for name, definition := range must(crd.Definitions())(t) {
		for _, path := range schemaPaths(name, definition.Spec.Validation.OpenAPIV3Schema) {
			if !shown[path] {
				t.Errorf("%s is in no manifest in testdata/good", path)
			}
		}
	}
}

func collectPaths(path string, value any, into map[string]bool) {
	into[path] = true
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			collectPaths(path+"."+name, v, into)
		}
	case []any:
		for _, v := range value {
			collectPaths(path, v, into)
		}
	}
}

func schemaPaths(path string, schema *apiextensions.JSONSchemaProps) []string {
	if strings.HasSuffix(path, ".template.spec") || strings.HasSuffix(path, ".job.spec") { // of Kubernetes, whose fields are not ours to show
		return []string{path}
	}
	if schema.Items != nil {
		return schemaPaths(path, schema.Items.Schema)
	}
	paths := []string{path}
	for name, property := range schema.Properties {
		paths = append(paths, schemaPaths(path+"."+name, &property)...)
	}
	return paths
}

// Without a JSON name a field would be on the wire under its Go name.
func TestEveryFieldHasAJSONName(t *testing.T) {
	seen := make(map[reflect.Type]bool)
	for _, object := range []any{
		v1alpha1.Rollout{}, v1alpha1.AnalysisTemplate{}, v1alpha1.ClusterAnalysisTemplate{}, v1alpha1.AnalysisRun{}, v1alpha1.Experiment{},
	} {
		checkJSONNames(t, reflect.TypeOf(object), seen)
	}
}

func checkJSONNames(t *testing.T, of reflect.Type, seen map[reflect.Type]bool) {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, of.Kind()) {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || seen[of] || !strings.HasSuffix(of.PkgPath(), "api/v1alpha1") {
		return
	}
	seen[of] = true
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && options != "inline" {
			t.Errorf("%s.%s has no JSON name", of.Name(), field.Name)
		}
		checkJSONNames(t, field.Type, seen)
	}
}

// Once set, a selector stays: its ReplicaSets carry it and cannot change theirs.
func TestSelectorCannotBeChanged(t *testing.T) {
	read := func() map[string]any {
		for _, m := range must(manifests.Good())(t) {
			if m.Name == "seed-canary" {
				return m.Object
			}
		}
		t.Fatal("there is no seed-canary")
		return nil
	}
	relabel := func(object map[string]any) {
		spec := object["spec"].(map[string]any)
		spec["selector"] = map[string]any{"matchLabels": map[string]any{"tier": "front"}}
		spec["template"].(map[string]any)["metadata"].(map[string]any)["labels"] = map[string]any{"tier": "front"}
	}
	if errs := admit(t.Context(), t, v1alpha1.KindRollout, read(), read()); len(errs) > 0 {
		t.Errorf("an unchanged selector: %v", errs.ToAggregate())
	}
	changed := read()
	relabel(changed)
	errs := admit(t.Context(), t, v1alpha1.KindRollout, changed, read())
	if !refusedFor(errs, manifests.Want{Path: "spec.selector", Message: "selector cannot be changed once it is set"}) || len(errs) != 1 {
		t.Errorf("a changed selector: %v", errs.ToAggregate())
	}
}
