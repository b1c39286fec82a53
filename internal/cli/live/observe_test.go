package live_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// What the engine asks for as the API server has it now was read from there a moment ago. An Experiment that the course ahead creates is
// in no cluster yet, and stays.
func TestLookAnswersEveryNeed(t *testing.T) {
	for name, need := range map[string]change.Need{
		"Services":         change.NeedLiveServices{},
		"routes":           change.NeedLiveRouting{},
		"the Rollout":      change.NeedLiveRollout{},
		"an Experiment":    change.NeedLiveExperiment{Name: "web-v2-2-1"},
		"a version's pods": change.NeedPods{Hash: "v2"},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := newClient(t)
			o := plan.Observed{
				Rollout:     &v1alpha1.Rollout{},
				ReplicaSets: []*appsv1.ReplicaSet{},
				Experiments: []*v1alpha1.Experiment{{ObjectMeta: metav1.ObjectMeta{Name: "web-v2-2-1"}}},
			}
			if err := client.Look(t.Context(), &o, need); err != nil {
				t.Fatal(err)
			}
			var answered bool
			switch n := need.(type) {
			case change.NeedLiveServices:
				answered = o.ServicesLive
			case change.NeedLiveRouting:
				answered = o.ServicesLive && o.RoutesLive
			case change.NeedLiveRollout:
				answered = o.RolloutLive
			case change.NeedLiveExperiment:
				answered = o.LiveExperiment == n.Name && len(o.Experiments) == 1
			case change.NeedPods:
				_, answered = o.Pods[n.Hash]
			}
			if !answered {
				t.Errorf("the engine would ask again for %T", need)
			}
		})
	}
}
