package v1alpha1

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// The limits in code and those of the CRDs are the same, field by field.
func TestLimitsAreThoseOfTheCRDs(t *testing.T) {
	want := map[string]int{}
	for kind, root := range map[string]any{
		"rollouts": Rollout{}, "analysistemplates": AnalysisTemplate{}, "clusteranalysistemplates": ClusterAnalysisTemplate{},
		"analysisruns": AnalysisRun{}, "experiments": Experiment{},
	} {
		text, err := os.ReadFile(filepath.Join("../../config/crd", "argoproj.io_"+kind+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		limitsIn(t, definition.Spec.Versions[0].Schema.OpenAPIV3Schema, reflect.TypeOf(root), want)
	}
	if len(want) < 20 {
		t.Fatalf("the CRDs have %d limits only", len(want))
	}
	if diff := cmp.Diff(want, limits); diff != "" {
		t.Errorf("limits of the CRDs (-) and in code (+):\n%s", diff)
	}
}

func limitsIn(t *testing.T, schema *apiextensionsv1.JSONSchemaProps, goType reflect.Type, found map[string]int) {
	t.Helper()
	for i := range goType.NumField() {
		f := goType.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if strings.Contains(options, "inline") && structOf(f.Type) != nil {
			limitsIn(t, schema, structOf(f.Type), found)
			continue
		}
		below, ok := schema.Properties[name]
		if !ok {
			continue
		}
		for _, limit := range []*int64{below.MaxItems, below.MaxProperties} {
			if limit == nil || f.Type.Kind() != reflect.Slice && f.Type.Kind() != reflect.Map {
				continue
			}
			key := goType.Name() + "." + f.Name
			if before, there := found[key]; there && before != int(*limit) {
				t.Errorf("%s has the limits %d and %d", key, before, *limit)
			}
			found[key] = int(*limit)
		}
		if inner := structOf(f.Type); inner != nil {
			if below.Items != nil {
				below = *below.Items.Schema
			}
			limitsIn(t, &below, inner, found)
		}
	}
}

// What is stored with more than the limit is read as if that had been left out, and named; what else is wrong is named too.
func TestWhatIsMoreThanTheLimit(t *testing.T) {
	items := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	for name, c := range map[string]struct {
		object any
		stored string
		want   []string
	}{
		"as many as there may be": {&Rollout{}, `{"spec": {"strategy": {"canary": {"steps": ` + items(500, `{"setWeight": 1}`) + `}}}}`, nil},
		"steps": {&Rollout{}, `{"spec": {"strategy": {"canary": {"steps": ` + items(501, `{"setWeight": 1}`) + `}}}}`, []string{
			"spec.strategy.canary.steps: has 501 items, and may have 500: take some out",
		}},
		"matches of one step, and a number": {&Rollout{}, `{"spec": {"replicas": "x", "strategy": {"canary": {"steps": [{"pause": {}},
			{"setHeaderRoute": {"name": "a", "match": ` + items(21, `{"headerName": "h"}`) + `}}]}}}}`, []string{
			"spec.replicas: \"x\" is not a whole number between -2147483648 and 2147483647: write one, without quotes",
			"spec.strategy.canary.steps[1].setHeaderRoute.match: has 21 items, and may have 20: take some out",
		}},
		"templates of an analysis in the background": {&Rollout{}, `{"spec": {"strategy": {"canary": {"analysis": {"templates": ` + items(101, `{"templateName": "a"}`) + `}}}}}`, []string{
			"spec.strategy.canary.analysis.templates: has 101 items, and may have 100: take some out",
		}},
		"metrics":             {&AnalysisRun{}, `{"spec": {"metrics": ` + items(101, `{"name": "a"}`) + `}}`, []string{"spec.metrics: has 101 items, and may have 100: take some out"}},
		"arguments":           {&AnalysisTemplate{}, `{"spec": {"args": ` + items(201, `{"name": "a"}`) + `}}`, []string{"spec.args: has 201 items, and may have 200: take some out"}},
		"templates":           {&Experiment{}, `{"spec": {"templates": ` + items(5000, `{"name": "a"}`) + `}}`, []string{"spec.templates: has 5000 items, and may have 50: take some out"}},
		"templates, and more": {&ClusterAnalysisTemplate{}, `{"spec": {"templates": ` + items(300, `{"templateName": "a"}`) + `}}`, []string{"spec.templates: has 300 items, and may have 100: take some out"}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := json.Unmarshal([]byte(c.stored), c.object); err != nil {
				t.Fatal(err)
			}
			v := reflect.ValueOf(c.object).Elem()
			field := v.FieldByName("Unreadable")
			if !field.IsValid() {
				field = v.FieldByName("Spec").FieldByName("Unreadable")
			}
			var got []string
			for _, u := range field.Interface().(Unreadable) {
				got = append(got, fmt.Sprint(u))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := withinLimits(c.object); again != nil {
				t.Errorf("what was read still has %s", again)
			}
		})
	}
}
