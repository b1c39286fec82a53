package v1alpha1_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/manifests"
)

// Of an object that does not fit the types all that fits is read, and the rest is named, as the field that a user wrote, with what to
// write instead.
func TestUnreadableFields(t *testing.T) {
	tests := map[string]struct {
		stored string
		want   v1alpha1.Unreadable
	}{
		"nothing is wrong": {stored: `{"spec": {"replicas": 2}}`},
		"a quantity": {
			`{"spec": {"template": {"spec": {"containers": [{"name": "a"}, {"name": "b", "resources": {"requests": {"cpu": "1", "memory": "invalid"}}}]}}}}`,
			v1alpha1.Unreadable{{
				"spec.template.spec.containers[1].resources.requests.memory",
				`"invalid" is not a quantity: write a number with or without a suffix, such as 500m, 2 or 1Gi`,
			}},
		},
		"a number larger than the field": {
			`{"spec": {"replicas": 4294967296}}`,
			v1alpha1.Unreadable{{"spec.replicas", "4294967296 is not a whole number between -2147483648 and 2147483647: write one, without quotes"}},
		},
		"a number larger than any": {
			`{"spec": {"replicas": 1e400, "paused": true}}`,
			v1alpha1.Unreadable{{"spec.replicas", "1e400 is not a whole number between -2147483648 and 2147483647: write one, without quotes"}},
		},
		"a fraction": {
			`{"spec": {"replicas": 1.5}}`,
			v1alpha1.Unreadable{{"spec.replicas", "1.5 is not a whole number between -2147483648 and 2147483647: write one, without quotes"}},
		},
		"a number or text": {
			`{"spec": {"strategy": {"canary": {"maxSurge": 4294967296, "steps": [{"pause": {"duration": {}}}]}}}}`,
			v1alpha1.Unreadable{
				{"spec.strategy.canary.maxSurge", `4294967296 is neither a text nor a whole number up to 2147483647: write one of these, such as 2 or "25%"`},
				{"spec.strategy.canary.steps[0].pause.duration", `an object is neither a text nor a whole number up to 2147483647: write one of these, such as 2 or "25%"`},
			},
		},
		"a time": {
			`{"spec": {"restartAt": "tomorrow"}}`,
			v1alpha1.Unreadable{{"spec.restartAt", `"tomorrow" is not a time: write one such as 2026-01-31T12:00:00Z`}},
		},
		"a number where there must be text": {
			`{"spec": {"template": {"metadata": {"labels": {"app": 1}}}}}`,
			v1alpha1.Unreadable{{"spec.template.metadata.labels.app", "1 is not text: put it in quotes"}},
		},
		"text where there must be true or false": {
			`{"spec": {"paused": "yes"}}`,
			v1alpha1.Unreadable{{"spec.paused", `"yes" is neither true nor false: write one of these, without quotes`}},
		},
		"an object where there must be a list, and the other way around": {
			`{"spec": {"template": {"spec": {"containers": {"name": "a"}, "securityContext": []}}}}`,
			v1alpha1.Unreadable{
				{"spec.template.spec.containers", `an object is not a list: begin each item with "- "`},
				{"spec.template.spec.securityContext", "a list is not an object: write a mapping of fields to values"},
			},
		},
		"a long value is shortened": {
			`{"spec": {"paused": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}`,
			v1alpha1.Unreadable{{"spec.paused", `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…" is neither true nor false: write one of these, without quotes`}},
		},
		"the spec itself":        {`{"spec": "none"}`, v1alpha1.Unreadable{{"spec", `"none" is not an object: write a mapping of fields to values`}}},
		"the status":             {`{"status": {"replicas": "many", "abort": true}}`, v1alpha1.Unreadable{{"status.replicas", `"many" is not a whole number between -2147483648 and 2147483647: write one, without quotes`}}},
		"metadata":               {`{"metadata": {"name": "a", "labels": 1}}`, v1alpha1.Unreadable{{"metadata.labels", "1 is not an object: write a mapping of fields to values"}}},
		"null is what is absent": {stored: `{"metadata": {"name": "a"}, "spec": null, "status": {"conditions": [null], "canary": null}}`},
		"unknown fields are passed over": {
			`{"spec": {"later": 1, "paused": 1}}`,
			v1alpha1.Unreadable{{"spec.paused", "1 is neither true nor false: write one of these, without quotes"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var ro v1alpha1.Rollout
			if err := json.Unmarshal([]byte(tt.stored), &ro); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, ro.Unreadable, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(ro.Unreadable, ro.DeepCopy().Unreadable); diff != "" {
				t.Errorf("a copy has lost it:\n%s", diff)
			}
		})
	}
}

// What fits is read, whatever else does not: neighbours in a list keep their places.
func TestWhatFitsIsRead(t *testing.T) {
	var ro v1alpha1.Rollout
	err := json.Unmarshal([]byte(`{"metadata": {"name": "web", "labels": {"a": "b"}}, "spec": {"paused": "no", "replicas": 3, "template": {"spec": {
		"containers": [5, {"name": "b", "image": "nginx", "resources": {"limits": {"cpu": "x"}}}]}}}, "status": {"stableRS": "abc", "replicas": {}}}`), &ro)
	if err != nil {
		t.Fatal(err)
	}
	containers := ro.Spec.Template.Spec.Containers
	if ro.Name != "web" || ro.Labels["a"] != "b" || *ro.Spec.Replicas != 3 || ro.Status.StableRS != "abc" || len(containers) != 2 || containers[1].Image != "nginx" {
		t.Errorf("too little is read: %+v", ro)
	}
	if len(ro.Unreadable) != 4 || len(ro.Unreadable.Of("spec")) != 3 || len(ro.Unreadable.Of("status")) != 1 {
		t.Errorf("not everything is told: %v", ro.Unreadable)
	}
}

// Each kind is decoded by itself, also in the lists of a client, and in what a converter makes of unstructured objects.
func TestOneUnreadableObjectCostsItselfOnly(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	broken := map[string]string{
		v1alpha1.KindRollout:                 `{"template": {"spec": {"containers": [{"name": "a", "resources": {"requests": {"memory": "invalid"}}}]}}}`,
		v1alpha1.KindExperiment:              `{"templates": [{"name": "a", "replicas": "one"}]}`,
		v1alpha1.KindAnalysisRun:             `{"metrics": [{"name": "a", "count": {}}]}`,
		v1alpha1.KindAnalysisTemplate:        `{"metrics": [{"name": "a", "count": {}}]}`,
		v1alpha1.KindClusterAnalysisTemplate: `{"metrics": [{"name": "a", "count": {}}]}`,
	}
	for kind, spec := range broken {
		t.Run(kind, func(t *testing.T) {
			head := `"apiVersion": "argoproj.io/v1alpha1", "kind": "` + kind
			text := `{` + head + `List", "items": [{` + head + `", "metadata": {"name": "bad"}, "spec": ` + spec + `}, {` + head + `", "metadata": {"name": "good"}}]}`
			list, _, err := decoder.Decode([]byte(text), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			items, err := meta.ExtractList(list)
			if err != nil || len(items) != 2 {
				t.Fatal(err, len(items))
			}
			if len(unreadableOf(t, items[0])) != 1 || len(unreadableOf(t, items[1])) != 0 {
				t.Errorf("want one field of the first: %v, %v", unreadableOf(t, items[0]), unreadableOf(t, items[1]))
			}
			var stored map[string]any
			if err := json.Unmarshal([]byte(`{`+head+`", "spec": `+spec+`}`), &stored); err != nil {
				t.Fatal(err)
			}
			typed, err := scheme.New(v1alpha1.GroupVersion.WithKind(kind))
			if err != nil {
				t.Fatal(err)
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored, typed); err != nil || len(unreadableOf(t, typed)) != 1 {
				t.Errorf("converted: %v, %v", err, unreadableOf(t, typed))
			}
		})
	}
}

// unreadableOf are the fields of one of our kinds that do not fit.
func unreadableOf(t *testing.T, object any) v1alpha1.Unreadable {
	t.Helper()
	switch o := object.(type) {
	case *v1alpha1.Rollout:
		return o.Unreadable
	case *v1alpha1.Experiment:
		return o.Unreadable
	case *v1alpha1.AnalysisRun:
		return o.Unreadable
	case *v1alpha1.AnalysisTemplate:
		return o.Spec.Unreadable
	case *v1alpha1.ClusterAnalysisTemplate:
		return o.Spec.Unreadable
	}
	t.Fatalf("%T", object)
	return nil
}

// BenchmarkDecode compares decoding as it is with decoding the same fields without keeping what cannot be read.
func BenchmarkDecode(b *testing.B) {
	var text []byte
	for _, m := range must(manifests.Good())(&testing.T{}) {
		if m.Name == "seed-canary" {
			text, _ = json.Marshal(m.Object)
		}
	}
	list := slices.Concat([]byte(`{"items": [`), bytes.Repeat(append(slices.Clone(text), ','), 99), text, []byte(`]}`))
	type plain v1alpha1.Rollout
	b.Run("itself", func(b *testing.B) {
		for b.Loop() {
			var into v1alpha1.RolloutList
			if err := utiljson.Unmarshal(list, &into); err != nil || len(into.Items) != 100 {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			var into struct{ Items []plain }
			if err := utiljson.Unmarshal(bytes.Replace(list, []byte(`"items"`), []byte(`"Items"`), 1), &into); err != nil || len(into.Items) != 100 {
				b.Fatal(err)
			}
		}
	})
	broken := bytes.ReplaceAll(list, []byte(`"template":{`), []byte(`"paused":"yes","template":{`))
	b.Run("unreadable", func(b *testing.B) {
		for b.Loop() {
			var into v1alpha1.RolloutList
			if err := utiljson.Unmarshal(broken, &into); err != nil || len(into.Items[0].Unreadable) == 0 {
				b.Fatal(err)
			}
		}
	})
}
