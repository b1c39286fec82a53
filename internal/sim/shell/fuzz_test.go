package shell_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/manifests"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/sim/shell"
)

const (
	// horizon is how long the controller is given with what is stored, mostSteps what may happen in that time: more would be a loop.
	horizon   = 10 * time.Minute
	mostSteps = 20000
	// longest is the largest object that is tried. An API server takes more, and only takes longer.
	longest = 32 << 10
)

// seed adds the manifests of some kinds, and objects with values that fit no type.
func seed(f *testing.F, kinds ...string) {
	f.Helper()
	for _, read := range []func() ([]manifests.Manifest, error){manifests.Good, manifests.Bad} {
		all, err := read()
		if err != nil {
			f.Fatal(err)
		}
		for _, m := range all {
			for _, kind := range kinds {
				if m.Kind != kind {
					continue
				}
				text, err := json.Marshal(m.Object)
				if err != nil {
					f.Fatal(err)
				}
				for way := range uint64(5) {
					f.Add(text, way)
				}
			}
		}
	}
	for _, text := range []string{
		`{}`, `{"spec": null, "status": null}`, `{"spec": 5, "status": []}`, `{"metadata": {"annotations": 1, "ownerReferences": [{}]}}`,
		`{"status": {"phase": 5, "conditions": [null, 1], "pauseConditions": [{"startTime": "now"}], "canary": "x", "currentStepIndex": 1e9}}`,
		`{"status": {"phase": "Running", "startedAt": "now", "metricResults": [{"name": "a", "measurements": [{"startedAt": 1}, null]}]}}`,
		`{"status": {"templateStatuses": [null, {"name": 1}], "analysisRuns": {}, "availableAt": "x"}}`,
		`{"spec": {"replicas": 4294967296, "template": {"spec": {"containers": [{"resources": {"requests": {"memory": "1e999999999"}}}]}}}}`,
	} {
		f.Add([]byte(text), uint64(0))
	}
}

// world is a World whose objects the shell manages.
func world() *sim.World {
	w := sim.New(sim.Options{PodStart: time.Second, Rand: rand.New(rand.NewPCG(1, 1))})
	w.SetQuota(20)
	return w
}

// play runs the shell on a world for a while.
func play(t *testing.T, w *sim.World) {
	t.Helper()
	shell.Control(shell.Options{
		World: w, Routed: true, Fate: shell.Dice{rand.New(rand.NewPCG(1, 2))}, Engine: plan.Next, Experiment: experiment.Next, Judge: measure.Next,
		Measure: func(metric.Request) sim.Measurement {
			return sim.Measurement{Reading: metric.Reading{Value: "1"}, Takes: time.Second}
		},
		OnExperimentPlan: func(sim.ExperimentPass) {}, OnExperimentPass: func(sim.ExperimentPass) {}, OnAnalysisPass: func(sim.AnalysisPass) {},
		OnStart: func() {}, OnTold: func(shell.Notice) {}, OnEvent: func(*corev1.Event, bool) {},
	})
	until := sim.Start.Add(horizon)
	for steps := 0; w.Step(until); steps++ {
		if steps > mostSteps {
			t.Fatalf("%d things have happened in %s", steps, w.Elapsed())
		}
	}
}

// stored decodes what is stored, with metadata as an API server gives them. Objects that are no objects nobody stores.
func stored(text []byte, way uint64, into metav1.Object) bool {
	if way > 0 {
		text = spoiled(text, rand.New(rand.NewPCG(way, 1)))
	}
	if len(text) > longest || json.Unmarshal(text, into) != nil {
		return false
	}
	into.SetName("fuzzed")
	into.SetNamespace("default")
	into.SetUID("fuzzed")
	into.SetResourceVersion("1")
	into.SetGenerateName("")
	into.SetDeletionTimestamp(nil)
	return true
}

// hostile are values that may stand where others are expected.
var hostile = []any{
	nil, true, 0, -1, 1, 100, 2147483647, 4294967296, 1e30, 0.5, "", "x", "0", "-1", "25%", "1h", "invalid", "2026-01-31T12:00:00Z", "{{args.a}}",
	[]any{},
	[]any{nil},
	map[string]any{},
	map[string]any{"name": 5},
}

// spoiled is a JSON text with values of it replaced, one in twenty: texts that are changed byte by byte are rarely JSON.
func spoiled(text []byte, r *rand.Rand) []byte {
	var tree any
	if json.Unmarshal(text, &tree) != nil {
		return text
	}
	after, err := json.Marshal(spoil(tree, r))
	if err != nil {
		return text
	}
	return after
}

func spoil(value any, r *rand.Rand) any {
	if r.IntN(20) == 0 {
		return hostile[r.IntN(len(hostile))]
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			v[key] = spoil(v[key], r)
		}
	case []any:
		for i := range v {
			v[i] = spoil(v[i], r)
		}
	}
	return value
}

// neighbor is a Rollout that names what is fuzzed.
func neighbor(t *testing.T, steps string) *v1alpha1.Rollout {
	t.Helper()
	var ro v1alpha1.Rollout
	err := json.Unmarshal(fmt.Appendf(nil, `{"metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
		"strategy": {"canary": {"steps": %s}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "v1"}]}}}}`, steps), &ro)
	if err != nil {
		t.Fatal(err)
	}
	return &ro
}

// Whatever is stored as a Rollout, its status included, looking after it ends and panics nowhere.
func FuzzStoredRollout(f *testing.F) {
	seed(f, v1alpha1.KindRollout)
	f.Fuzz(func(t *testing.T, text []byte, way uint64) {
		var ro v1alpha1.Rollout
		if !stored(text, way, &ro) {
			return
		}
		w := world()
		w.PutTemplates(analysis.Templates{{TemplateName: "success-rate"}: {Metrics: []v1alpha1.Metric{{Name: "a", Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "http://a"}}}}}})
		w.Create(&ro)
		play(t, w)
	})
}

// Whatever is stored as an AnalysisTemplate, looking after a Rollout that names it ends and panics nowhere.
func FuzzStoredAnalysisTemplate(f *testing.F) {
	seed(f, v1alpha1.KindAnalysisTemplate, v1alpha1.KindClusterAnalysisTemplate)
	f.Fuzz(func(t *testing.T, text []byte, way uint64) {
		var template v1alpha1.AnalysisTemplate
		var ofCluster v1alpha1.ClusterAnalysisTemplate
		if !stored(text, way, &template) || !stored(text, way, &ofCluster) {
			return
		}
		w := world()
		w.PutTemplates(analysis.Templates{
			{TemplateName: "fuzzed"}:                     &template.Spec,
			{TemplateName: "fuzzed", ClusterScope: true}: &ofCluster.Spec,
		})
		w.Create(neighbor(t, `[{"setWeight": 50}, {"analysis": {"templates": [{"templateName": "fuzzed"}]}}, {"analysis": {"templates": [{"templateName": "fuzzed", "clusterScope": true}]}}]`))
		play(t, w)
	})
}

// Whatever is stored as an AnalysisRun, its status included, measuring ends and panics nowhere.
func FuzzStoredAnalysisRun(f *testing.F) {
	seed(f, v1alpha1.KindAnalysisRun, v1alpha1.KindAnalysisTemplate)
	f.Fuzz(func(t *testing.T, text []byte, way uint64) {
		var run v1alpha1.AnalysisRun
		if !stored(text, way, &run) {
			return
		}
		w := world()
		if _, err := w.Server().Create(&run); err != nil {
			t.Fatal(err)
		}
		w.Create(neighbor(t, `[]`))
		play(t, w)
	})
}

// Whatever is stored as an Experiment, its status included, looking after it ends and panics nowhere.
func FuzzStoredExperiment(f *testing.F) {
	seed(f, v1alpha1.KindExperiment)
	f.Fuzz(func(t *testing.T, text []byte, way uint64) {
		var ex v1alpha1.Experiment
		if !stored(text, way, &ex) {
			return
		}
		w := world()
		w.CreateExperiment(&ex)
		w.EditExperiment("fuzzed", func(now *v1alpha1.Experiment) { now.Unreadable = ex.Unreadable }) // which nothing that is created carries
		play(t, w)
	})
}
