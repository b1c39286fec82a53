package decided_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim/decided"
)

// TestDecisionsAreSeen proves that a decision that differs changes its hash, and other words change theirs.
func TestDecisionsAreSeen(t *testing.T) {
	of := func(p plan.Plan) decided.Sum {
		h := decided.New()
		h.Plan(p)
		return h.Sum()
	}
	made := func(alter func(*plan.Plan)) plan.Plan {
		ro := &v1alpha1.Rollout{}
		ro.Status.Conditions = []v1alpha1.RolloutCondition{{Type: "Progressing"}}
		p := plan.Plan{
			Shrink: []change.Change{change.DeleteReplicaSet{ReplicaSet: &appsv1.ReplicaSet{}}},
			Record: &plan.Record{From: ro.DeepCopy(), To: ro},
			Events: []change.Event{{Reason: "One"}}, Notes: []change.Note{{Topic: change.TopicWait}}, Needs: []change.Need{change.NeedLiveServices{}},
		}
		alter(&p)
		return p
	}
	is := of(made(func(*plan.Plan) {}))
	for name, alter := range map[string]func(*plan.Plan){
		"another kind of change": func(p *plan.Plan) { p.Shrink[0] = change.CreateReplicaSet{ReplicaSet: &appsv1.ReplicaSet{}} },
		"no change":              func(p *plan.Plan) { p.Shrink = nil },
		"the change earlier":     func(p *plan.Plan) { p.Grow, p.Shrink = p.Shrink, nil },
		"another object": func(p *plan.Plan) {
			p.Shrink[0] = change.DeleteReplicaSet{ReplicaSet: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "b"}}}
		},
		"another status":           func(p *plan.Plan) { p.Record.To.Status.Abort = true },
		"another annotation":       func(p *plan.Plan) { p.Record.To.Annotations = map[string]string{"a": "b"} },
		"a record that can wait":   func(p *plan.Plan) { p.Record.CanWait = true },
		"no record":                func(p *plan.Plan) { p.Record = nil },
		"another reason":           func(p *plan.Plan) { p.Events[0].Reason = "Two" },
		"a warning":                func(p *plan.Plan) { p.Events[0].Warning = true },
		"another topic":            func(p *plan.Plan) { p.Notes[0].Topic = change.TopicGrow },
		"a promise":                func(p *plan.Plan) { p.Notes[0].Promise.Name = "x" },
		"another need":             func(p *plan.Plan) { p.Needs[0] = change.NeedLiveRouting{} },
		"a reconcile":              func(p *plan.Plan) { p.Wake = time.Unix(1, 0) },
		"a question to a plugin":   func(p *plan.Plan) { p.Calls = []change.StepCall{{}} },
		"an answer of no use":      func(p *plan.Plan) { p.Heard = 1 },
		"labels of running pods":   func(p *plan.Plan) { p.Label = []change.Change{change.EvictPod{Pod: &corev1.Pod{}}} },
		"another condition's type": func(p *plan.Plan) { p.Record.To.Status.Conditions[0].Type = "Healthy" },
	} {
		if now := of(made(alter)); now.Does == is.Does {
			t.Errorf("%s is not seen", name)
		}
	}
	for name, alter := range map[string]func(*plan.Plan){
		"a message":             func(p *plan.Plan) { p.Record.To.Status.Message = "x" },
		"a condition's message": func(p *plan.Plan) { p.Record.To.Status.Conditions[0].Message = "x" },
		"an event's message":    func(p *plan.Plan) { p.Events[0].Message = "x" },
		"a note's text":         func(p *plan.Plan) { p.Notes[0].Text = "x" },
		"a note's reason":       func(p *plan.Plan) { p.Notes[0].Reason = "x" },
	} {
		if now := of(made(alter)); now.Says == is.Says || now.Does != is.Does {
			t.Errorf("%s changes %s to %s: it is words", name, is, now)
		}
	}
}
