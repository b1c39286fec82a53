package play

import (
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/sluice-delivery/sluice/internal/sim"
)

// TestAutoscalerWarnsOfWhatIsNotPlayed: of an autoscaler's behavior the stabilization window for fewer pods is played, and the rules that the
// API server writes where there are none. Only for other rules there is a warning.
func TestAutoscalerWarnsOfWhatIsNotPlayed(t *testing.T) {
	window := new(int32(60))
	twice, four, all := rule(autoscalingv2.PercentScalingPolicy, 100), rule(autoscalingv2.PodsScalingPolicy, 4), rule(autoscalingv2.PercentScalingPolicy, 100)
	most, off := new(autoscalingv2.MaxChangePolicySelect), new(autoscalingv2.DisabledPolicySelect)
	for name, c := range map[string]struct {
		behavior *autoscalingv2.HorizontalPodAutoscalerBehavior
		warned   bool
	}{
		"no behavior":       {nil, false},
		"an empty behavior": {&autoscalingv2.HorizontalPodAutoscalerBehavior{}, false},
		"the window for fewer pods": {&autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: window},
		}, false},
		"what the API server makes of it": {&autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleUp: &autoscalingv2.HPAScalingRules{
				StabilizationWindowSeconds: new(int32(0)), SelectPolicy: most,
				Policies: []autoscalingv2.HPAScalingPolicy{four, twice},
			},
			ScaleDown: &autoscalingv2.HPAScalingRules{
				StabilizationWindowSeconds: window, SelectPolicy: most,
				Policies: []autoscalingv2.HPAScalingPolicy{all},
			},
		}, false},
		"a window for more pods": {&autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleUp: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: window},
		}, true},
		"one pod at a time": {&autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleDown: &autoscalingv2.HPAScalingRules{Policies: []autoscalingv2.HPAScalingPolicy{rule(autoscalingv2.PodsScalingPolicy, 1)}},
		}, true},
		"never fewer pods": {&autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{SelectPolicy: off}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := ParseScenario("story", "at 1m load 6\nat 2m load 3")
			if err != nil {
				t.Fatal(err)
			}
			played, err := Play(Stage{
				Rollout: sim.NewRollout("web", "v2", 4), PodStartup: 10 * time.Second, Scenario: events,
				Autoscaler: &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 10, Behavior: c.behavior}},
			})
			if err != nil {
				t.Fatal(err)
			}
			warned := slices.ContainsFunc(played.Warnings, func(w string) bool { return strings.Contains(w, "behavior") })
			if warned != c.warned {
				t.Errorf("warned: %t, want %t: %q", warned, c.warned, played.Warnings)
			}
		})
	}
}

func rule(kind autoscalingv2.HPAScalingPolicyType, value int32) autoscalingv2.HPAScalingPolicy {
	return autoscalingv2.HPAScalingPolicy{Type: kind, Value: value, PeriodSeconds: 15}
}
