package play

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/manifests"
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
		"# what if\n\nat 1m scale many":    `bad.txt:3: scale needs NUMBER, and has "many"`,
		"at 1m abort now":                  `bad.txt:1: abort takes no arguments, and has "now"`,
		"at 1m image v3":                   `bad.txt:1: image needs CONTAINER=IMAGE`,
		"at 1m explode":                    `there are abort, break,`,
		"at 1m laod 14":                    `bad.txt:1: unknown verb "laod": did you mean "load"?`,
		"at 1m load much":                  `bad.txt:1: load needs NUMBER, and has "much": write for example "load 3"`,
		"at 1m load -3":                    `bad.txt:1: load needs NUMBER, and has "-3"`,
		"at 1m take metric smoke 90s":      `bad.txt:1: unknown verb "take": did you mean "takes"?`,
		"at 1m takes metric smoke long": `bad.txt:1: takes needs metric NAME DURATION, and has "metric smoke long": ` +
			`write for example "takes metric error-rate 90s"`,
		"at 1m takes metric smoke -90s": `bad.txt:1: takes needs metric NAME DURATION, and has "metric smoke -90s"`,
		"at 1m takes smoke 90s":         `bad.txt:1: takes needs metric NAME DURATION, and has "smoke 90s"`,
		"at 1m kil 2 pods":              `bad.txt:1: unknown verb "kil": did you mean "kill"?`,
		"at 1m kill two pods":           `bad.txt:1: kill needs NUMBER pods, and has "two pods": write for example "kill 3 pods"`,
		"at 1m kill pods":               `bad.txt:1: kill needs NUMBER pods, and has "pods"`,
		"at 1m delet service web":       `bad.txt:1: unknown verb "delet": did you mean "delete"?`,
		"at 1m delete web-canary": `bad.txt:1: delete needs service NAME, and has "web-canary": ` +
			`write for example "delete service web-canary"`,
		"at 1m restor service web": `bad.txt:1: unknown verb "restor": did you mean "restore"?`,
		"at 1m restore services web": `bad.txt:1: restore needs service NAME, and has "services web": ` +
			`write for example "restore service web-canary"`,
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
		ro.Spec.Strategy.Canary.CanaryService, ro.Spec.Strategy.Canary.StableService = "web-canary", "web-stable"
		ro.Spec.Strategy.Canary.Analysis = &v1alpha1.RolloutAnalysisBackground{RolloutAnalysis: v1alpha1.RolloutAnalysis{
			Templates: []v1alpha1.AnalysisTemplateRef{{TemplateName: "errors"}},
		}}
		events, err := ParseScenario("story", scenario)
		if err != nil {
			t.Fatal(err)
		}
		return Stage{
			Rollout: ro, PodStartup: 10 * time.Second, Providers: []string{"web"}, Scenario: events,
			Services:   []*corev1.Service{service("web-canary"), service("web-stable")},
			Autoscaler: &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 10}},
			Templates: map[v1alpha1.AnalysisTemplateRef]*v1alpha1.AnalysisTemplateSpec{
				{TemplateName: "errors"}: {Metrics: []v1alpha1.Metric{{
					Name: "error-rate", Interval: "30s", FailureLimit: new(intstr.FromInt32(5)), SuccessCondition: "result < 0.5",
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
		return fmt.Sprintf("%s %t %t %s %d %d", s.Summary.Phase, s.Summary.Promoted, s.Summary.Aborted, s.Summary.Duration,
			s.Summary.MostPods, s.Summary.LeastAvailable)
	}
	unplayed := maps.Clone(verbs)
	undisturbed := tell("")
	for story, without := range map[string]string{
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
		"at 1m load 8":                         "",
		"at 10m28s kill 3 pods":                "",
		"at 1m nodata metric error-rate":       "",
		"at 1m value metric error-rate 0.9":    "at 1m value metric error-rate 0.1",
		"at 1m delete service web-canary":      "",
		"at 1m fail metric error-rate\nat 2m pass metric error-rate":        "at 1m fail metric error-rate",
		"at 1m fail metric error-rate\nat 1m takes metric error-rate 2m":    "at 1m fail metric error-rate",
		"at 1m delete service web-canary\nat 2m restore service web-canary": "at 1m delete service web-canary",
	} {
		for line := range strings.Lines(story) {
			delete(unplayed, strings.Fields(line)[2])
		}
		if with, without := tell(story), tell(without); with == without {
			t.Errorf("it makes no difference: %q, %s", story, with)
		}
	}
	if !strings.HasPrefix(undisturbed, "Healthy true") {
		t.Error(undisturbed)
	}
	if len(unplayed) > 0 {
		t.Errorf("verbs that no story here has: %v", slices.Sorted(maps.Keys(unplayed)))
	}
}

// TestDocsListEveryVerb, so that nobody has to read code for them.
func TestDocsListEveryVerb(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(manifests.Root(), "docs", "features", "simulate.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `") {
			rows.WriteString(line)
		}
	}
	for verb := range verbs {
		if !regexp.MustCompile("`" + verb + "[` ]").MatchString(rows.String()) {
			t.Errorf("no row of docs/features/simulate.md has `%s`", verb)
		}
	}
}

func service(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}}
}
