package sim_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// TestRulesHearOfEveryWrite: for everything that a plan writes, the world's Wrote is called once, and for nothing else.
func TestRulesHearOfEveryWrite(t *testing.T) {
	set := func(w *sim.World) *appsv1.ReplicaSet { return w.ReplicaSets()[0] }
	pod := func(w *sim.World) *corev1.Pod { return w.PodObjects()[0] }
	run := func(name string) *v1alpha1.AnalysisRun {
		return &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	}
	for name, changes := range map[string]func(w *sim.World) change.Change{
		"create a ReplicaSet": func(w *sim.World) change.Change {
			rs := set(w).DeepCopy()
			rs.Name = "another"
			return change.CreateReplicaSet{ReplicaSet: rs}
		},
		"update a ReplicaSet": func(w *sim.World) change.Change {
			to := set(w).DeepCopy()
			*to.Spec.Replicas++
			return change.UpdateReplicaSet{From: set(w), To: to}
		},
		"delete a ReplicaSet": func(w *sim.World) change.Change { return change.DeleteReplicaSet{ReplicaSet: set(w)} },
		"create an Experiment": func(*sim.World) change.Change {
			return change.CreateExperiment{Experiment: &v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Name: "another", Namespace: "default"}}}
		},
		"terminate an Experiment": func(w *sim.World) change.Change {
			to := w.Experiment("demo").DeepCopy()
			to.Spec.Terminate = true
			return change.TerminateExperiment{From: w.Experiment("demo"), To: to}
		},
		"delete an Experiment": func(w *sim.World) change.Change { return change.DeleteExperiment{Experiment: w.Experiment("demo")} },
		"create a Service": func(*sim.World) change.Change {
			return change.CreateService{Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "another", Namespace: "default"}}}
		},
		"update a Service": func(w *sim.World) change.Change {
			to := w.Service("web").DeepCopy()
			to.Spec.Selector = map[string]string{"app": "db"}
			return change.UpdateService{From: w.Service("web"), To: to}
		},
		"delete a Service": func(w *sim.World) change.Change { return change.DeleteService{Service: w.Service("web")} },
		"create a route":   func(*sim.World) change.Change { return change.WriteRoute{To: sim.HTTPRoute("another", "web")} },
		"update a route": func(w *sim.World) change.Change {
			from := w.Routes()[traffic.KeyOf(sim.HTTPRoute("web", "web"))]
			to := from.DeepCopy()
			to.SetLabels(map[string]string{"a": "b"})
			return change.WriteRoute{From: from, To: to}
		},
		"delete a route": func(w *sim.World) change.Change {
			return change.WriteRoute{From: w.Routes()[traffic.KeyOf(sim.HTTPRoute("web", "web"))]}
		},
		"label a pod": func(w *sim.World) change.Change {
			to := pod(w).DeepCopy()
			to.Labels["role"] = "canary"
			return change.UpdatePod{From: pod(w), To: to}
		},
		"evict a pod": func(w *sim.World) change.Change { return change.EvictPod{Pod: pod(w)} },
		"scale the workload": func(w *sim.World) change.Change {
			to := w.Deployment().DeepCopy()
			to.Spec.Replicas = new(int32(7))
			return change.ScaleWorkload{From: w.Deployment(), To: to}
		},
		"create an AnalysisRun": func(*sim.World) change.Change { return change.CreateAnalysisRun{Run: run("another")} },
		"terminate an AnalysisRun": func(w *sim.World) change.Change {
			to := w.Runs()[0].DeepCopy()
			to.Spec.Terminate = true
			return change.TerminateAnalysisRun{From: w.Runs()[0], To: to}
		},
		"delete an AnalysisRun": func(w *sim.World) change.Change { return change.DeleteAnalysisRun{Run: w.Runs()[0]} },
	} {
		t.Run(name, func(t *testing.T) {
			w := furnished(t, run("smoke"))
			heard := 0
			w.Wrote = func() { heard++ }
			apply := plan.Plan{Grow: []change.Change{changes(w)}}
			if done := w.Apply(apply, -1); !done.Whole() || done.Writes != 1 || heard != 1 {
				t.Errorf("of %d writes %d were reported: %+v", done.Writes, heard, done)
			}
			if again := w.Apply(apply, 0); again.Writes != 0 || heard != 1 {
				t.Errorf("a write before which the controller crashed was reported: %+v", again)
			}
		})
	}
	t.Run("record", func(t *testing.T) {
		w := furnished(t, run("smoke"))
		heard := 0
		w.Wrote = func() { heard++ }
		to := w.Rollout().DeepCopy()
		to.Annotations, to.Status.Message = map[string]string{"a": "b"}, "as it is now"
		if done := w.Apply(plan.Plan{Record: &plan.Record{From: w.Rollout(), To: to}}, -1); done.Writes != 2 || heard != 2 {
			t.Errorf("of %d writes %d were reported", done.Writes, heard)
		}
	})
	t.Run("a pod that the budget keeps", func(t *testing.T) {
		w := furnished(t, run("smoke"))
		w.SetBudget(9)
		heard := 0
		w.Wrote = func() { heard++ }
		if done := w.Apply(plan.Plan{Shrink: []change.Change{change.EvictPod{Pod: pod(w)}}}, -1); done.Writes != 0 || heard != 0 || len(w.PodObjects()) != 2 {
			t.Errorf("an eviction was refused, and %d writes were reported: %+v", heard, done)
		}
	})
}

// furnished is a world that has an object of each kind that a plan can change.
func furnished(t *testing.T, run *v1alpha1.AnalysisRun) *sim.World {
	t.Helper()
	w := sim.New(sim.Options{PodStart: time.Second})
	w.CreateService("web")
	w.PutRoute(sim.HTTPRoute("web", "web"))
	w.PutDeployment(func(*appsv1.Deployment) {})
	w.Create(sim.NewRollout("web", "v1", 2))
	w.Control(&sim.Controller{Next: plan.Next})
	w.Run(w.Now().Add(time.Minute))
	w.CreateExperiment(&v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"}})
	if made := w.Apply(plan.Plan{Judge: []change.Change{change.CreateAnalysisRun{Run: run}}}, -1); !made.Whole() {
		t.Fatalf("no AnalysisRun was made: %+v", made)
	}
	return w
}
