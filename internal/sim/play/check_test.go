package play

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// TestScenariosOfWhatIsNotThere are refused before anything is played.
func TestScenariosOfWhatIsNotThere(t *testing.T) {
	stage := hour()
	stage.Services = []*corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "web-canary"}}}
	stage.Templates = map[v1alpha1.AnalysisTemplateRef]*v1alpha1.AnalysisTemplateSpec{
		{TemplateName: "smoke"}: {Metrics: []v1alpha1.Metric{{Name: "smoke-test", Provider: v1alpha1.MetricProvider{Job: &v1alpha1.JobMetric{}}}}},
	}
	for text, want := range map[string]string{
		"at 1m abort\nat 2m fail metric smoke-tst": `bad.txt:2: there is no metric "smoke-tst": did you mean "smoke-test"?`,
		"at 1m value metric smoke-test 3":          `bad.txt:1: metric "smoke-test" is a Job, which has no value`,
		"at 1m image ap=v3":                        `bad.txt:1: there is no container "ap": did you mean "app"?`,
		"at 1m delete service web-canry":           `bad.txt:1: there is no Service "web-canry": did you mean "web-canary"?`,
		"at 1m restore service preview":            `bad.txt:1: there is no Service "preview": there are web-canary`,
		"at 1m load 3":                             `bad.txt:1: "load 3" is for a HorizontalPodAutoscaler, and there is none of this Rollout, or write "scale 3"`,
		"at 400h abort":                            `bad.txt:1: at 400h0m0s nothing is played any more: the story ends after 14 days`,
		"at 1m takes metric smoke 90s":             `bad.txt:1: there is no metric "smoke": did you mean "smoke-test"?`,
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

// TestProblemsOfScenarios are told in the order of the file, whenever they are to happen.
func TestProblemsOfScenarios(t *testing.T) {
	stage := hour()
	events, err := ParseScenario("bad.txt", "at 5m image ap=v3\nat 1m load 3")
	if err != nil {
		t.Fatal(err)
	}
	stage.Scenario = events
	_, err = Play(stage)
	if err == nil || !strings.HasPrefix(err.Error(), "bad.txt:1: ") || !strings.Contains(err.Error(), "\nbad.txt:2: ") {
		t.Errorf("%v", err)
	}
}

// TestBeginsOnTheStableVersion, and says why there is another one.
func TestBeginsOnTheStableVersion(t *testing.T) {
	for want, aborted := range map[string]bool{
		"an update is in progress: the simulation starts from the stable version, as if it had not begun":                  false,
		"the previous update was aborted: the simulation starts from the stable version alone, as if there were no update": true,
	} {
		stage := hour()
		stage.Stable = stage.Rollout.Spec.Template.DeepCopy()
		stage.Stable.Spec.Containers[0].Image = "v1"
		stage.Rollout.Status.Abort = aborted
		played, err := Play(stage)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(played.Warnings, want) || !played.Summary.Promoted {
			t.Errorf("aborted %t: %+v, %q", aborted, played.Summary, played.Warnings)
		}
	}
}

// TestTellsOnceWhatIsWrong, although each pass of the instant finds it.
func TestTellsOnceWhatIsWrong(t *testing.T) {
	stage := hour()
	stage.Services = []*corev1.Service{service("web-canary"), service("web-stable")}
	canary := stage.Rollout.Spec.Strategy.Canary
	canary.CanaryService, canary.StableService = "web-canary", "web-stable"
	events, err := ParseScenario("story", "at 1m delete service web-canary\nat 2m restore service web-canary")
	if err != nil {
		t.Fatal(err)
	}
	stage.Scenario = events
	played, err := Play(stage)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, m := range played.Moments {
		for _, text := range m.Done {
			if strings.Contains(text, `service "web-canary" not found`) {
				told++
			}
		}
	}
	if told != 1 {
		t.Errorf("told %d times: %+v", told, played.Moments)
	}
}
