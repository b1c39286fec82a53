package play

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// hour is an update of 100 replicas that takes more than an hour.
func hour() Stage {
	ro := sim.NewRollout("web", "v2", 100)
	for weight := int32(10); weight < 100; weight += 10 {
		ro.Spec.Strategy.Canary.Steps = append(ro.Spec.Strategy.Canary.Steps,
			v1alpha1.CanaryStep{SetWeight: new(weight)},
			v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{Duration: new(intstr.FromString("7m"))}})
	}
	return Stage{Rollout: ro, PodStartup: 10 * time.Second, Providers: []string{"web"}}
}

// TestLongUpdateTakesFewPasses keeps long updates quick: what costs time is what happens, not how long it takes.
func TestLongUpdateTakesFewPasses(t *testing.T) {
	s, err := Play(hour())
	if err != nil {
		t.Fatal(err)
	}
	if !s.Summary.Promoted || time.Duration(s.Summary.Duration) < time.Hour {
		t.Errorf("%+v", s.Summary)
	}
	if s.Summary.Passes > 500 {
		t.Errorf("%d passes for 18 steps", s.Summary.Passes)
	}
}

func BenchmarkHourOfHundredReplicas(b *testing.B) {
	for b.Loop() {
		if _, err := Play(hour()); err != nil {
			b.Fatal(err)
		}
	}
}

func TestScenarioErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"at 5m abort\nat 1m fial metric x": `bad.txt:2: unknown verb "fial": did you mean "fail"?`,
		"abort":                            `bad.txt:1: "abort" is not "at TIME VERB ..."`,
		"at soon abort":                    `bad.txt:1: "soon" is not a time`,
		"# what if\n\nat 1m scale many":    `bad.txt:3: scale wants NUMBER behind it, and has "many"`,
		"at 1m abort now":                  `bad.txt:1: abort takes nothing behind it, and has "now"`,
		"at 1m image v3":                   `bad.txt:1: image wants CONTAINER=IMAGE`,
		"at 1m explode":                    `there are abort, break,`,
	} {
		if _, err := ParseScenario("bad.txt", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestEveryVerbDoesSomething plays each verb of scenarios once: one that changes nothing would be a lie.
func TestEveryVerbDoesSomething(t *testing.T) {
	stage := func(scenario string) Stage {
		ro := sim.NewRollout("web", "v2", 4)
		ro.Spec.Strategy.Canary.Steps = []v1alpha1.CanaryStep{
			{SetWeight: new(int32(25))}, {Pause: &v1alpha1.RolloutPause{Duration: new(intstr.FromString("10m"))}}, {SetWeight: new(int32(50))},
		}
		ro.Spec.Strategy.Canary.Analysis = &v1alpha1.RolloutAnalysisBackground{RolloutAnalysis: v1alpha1.RolloutAnalysis{
			Templates: []v1alpha1.AnalysisTemplateRef{{TemplateName: "errors"}},
		}}
		events, err := ParseScenario("story", scenario)
		if err != nil {
			t.Fatal(err)
		}
		return Stage{
			Rollout: ro, PodStartup: 10 * time.Second, Providers: []string{"web"}, Scenario: events,
			Templates: map[v1alpha1.AnalysisTemplateRef]*v1alpha1.AnalysisTemplateSpec{
				{TemplateName: "errors"}: {Metrics: []v1alpha1.Metric{{
					Name: "error-rate", Interval: "30s", FailureLimit: new(intstr.FromInt32(5)),
					Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "https://test/"}},
				}}},
			},
		}
	}
	tell := func(scenario string) string {
		s, err := Play(stage(scenario))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s %t %t %s %d", s.Summary.Phase, s.Summary.Promoted, s.Summary.Aborted, s.Summary.Duration, s.Summary.MostPods)
	}
	undisturbed := tell("")
	for with, without := range map[string]string{
		"at 1m fail metric error-rate":                               "",
		"at 1m fail metric error-rate\nat 2m mend metric error-rate": "at 1m fail metric error-rate",
		"at 1m scale 8":                        "",
		"at 1m image app=v3":                   "",
		"at 1m promote":                        "",
		"at 1m promote-full":                   "",
		"at 1m abort":                          "",
		"at 1m abort\nat 2m retry":             "at 1m abort",
		"at 1m pause":                          "",
		"at 1m pause\nat 9m resume":            "at 1m pause",
		"at 1s break pods":                     "",
		"at 1s break pods\nat 2m mend pods":    "at 1s break pods",
		"at 9m55s restart":                     "",
		"at 1m error metric error-rate":        "",
		"at 1m inconclusive metric error-rate": "",
		"at 1m undo":                           "",
		"at 1s break pods\nat 2s crash pods":   "",
	} {
		if with, without := tell(with), tell(without); with == without {
			t.Errorf("it makes no difference: %s", with)
		}
	}
	if !strings.HasPrefix(undisturbed, "Healthy true") {
		t.Error(undisturbed)
	}
}
