package play

import (
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// TestScenariosOfWhatIsNotThere are refused before anything is played.
func TestScenariosOfWhatIsNotThere(t *testing.T) {
	stage := hour()
	stage.Templates = map[v1alpha1.AnalysisTemplateRef]*v1alpha1.AnalysisTemplateSpec{
		{TemplateName: "smoke"}: {Metrics: []v1alpha1.Metric{{Name: "smoke-test", Provider: v1alpha1.MetricProvider{Job: &v1alpha1.JobMetric{}}}}},
	}
	for text, want := range map[string]string{
		"at 1m abort\nat 2m fail metric smoke-tst": `bad.txt:2: there is no metric "smoke-tst": did you mean "smoke-test"?`,
		"at 1m value metric smoke-test 3":          `bad.txt:1: metric "smoke-test" is a Job, which has no value`,
		"at 1m image ap=v3":                        `bad.txt:1: there is no container "ap": did you mean "app"?`,
		"at 1m delete service web":                 `bad.txt:1: there is no Service "web": there are none`,
		"at 1m load 3":                             `bad.txt:1: load is for a HorizontalPodAutoscaler`,
	} {
		events, err := ParseScenario("bad.txt", text)
		if err != nil {
			t.Fatal(err)
		}
		stage.Scenario = events
		if _, err := Play(stage); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
