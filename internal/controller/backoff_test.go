package controller

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

// oneObject is a cache, and an API server, that has one object.
type oneObject struct {
	client.Client
	object client.Object
}

func (o *oneObject) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *v1alpha1.Rollout:
		if from, ok := o.object.(*v1alpha1.Rollout); ok {
			from.DeepCopyInto(into)
			return nil
		}
	case *v1alpha1.Experiment:
		if from, ok := o.object.(*v1alpha1.Experiment); ok {
			from.DeepCopyInto(into)
			return nil
		}
	case *v1alpha1.AnalysisRun:
		if from, ok := o.object.(*v1alpha1.AnalysisRun); ok {
			from.DeepCopyInto(into)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, "web")
}

func (o *oneObject) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// While a cache does not show the last write each look waits twice as long as the one before, up to a limit. When it does, that is over.
func TestLooksSeldomerWhileACacheLags(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "web"}
	meta := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "1", ResourceVersion: "5"}
	want := []time.Duration{100, 200, 400, 800, 1600, 2000, 2000}
	for name, c := range map[string]struct {
		object client.Object
		build  func(Deps) (func(context.Context, reconcile.Request) (reconcile.Result, error), *memory)
	}{
		"a Rollout": {&v1alpha1.Rollout{ObjectMeta: meta}, func(p Deps) (func(context.Context, reconcile.Request) (reconcile.Result, error), *memory) {
			r := NewRolloutReconciler(p)
			return r.pass, r.memory
		}},
		"an Experiment": {&v1alpha1.Experiment{ObjectMeta: meta}, func(p Deps) (func(context.Context, reconcile.Request) (reconcile.Result, error), *memory) {
			e := NewExperimentReconciler(p)
			return e.Reconcile, e.memory
		}},
		"an AnalysisRun": {
			&v1alpha1.AnalysisRun{ObjectMeta: meta, Status: v1alpha1.AnalysisRunStatus{Phase: v1alpha1.AnalysisPhaseSuccessful}},
			func(p Deps) (func(context.Context, reconcile.Request) (reconcile.Result, error), *memory) {
				r := NewAnalysisRunReconciler(t.Context(), p, nil)
				return r.Reconcile, r.memory
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
			world := &oneObject{object: c.object}
			pass, memory := c.build(Deps{
				Clock: clk, Client: world, Live: world, Log: slog.New(slog.DiscardHandler), Meters: telemetry.New(prometheus.NewRegistry(), false),
				Engine:     func(plan.Observed) plan.Plan { return plan.Plan{} },
				Experiment: func(experiment.Observed) experiment.Plan { return experiment.Plan{} },
			})
			look := func() time.Duration {
				t.Helper()
				result, err := pass(t.Context(), reconcile.Request{NamespacedName: key})
				if err != nil {
					t.Fatal(err)
				}
				return result.RequeueAfter
			}
			written := c.object.DeepCopyObject().(client.Object)
			written.SetResourceVersion("9")
			for range 2 { // after a pass that was finished it begins as it did the first time
				memory.wrote(key, written, clk.Now())
				var got []time.Duration
				for range want {
					after := look()
					got = append(got, after/time.Millisecond)
					if again := look(); again != after { // an event came as well
						t.Errorf("a second look at the same time has the next one after %s, not %s", again, after)
					}
					clk.SetTime(clk.Now().Add(after))
				}
				if !slices.Equal(got, want) {
					t.Errorf("looked again after %d ms, not %d", got, want)
				}
				memory.forgetOthers(key, "") // as it does when the cache shows the write
				if after := look(); after != 0 || len(memory.owners) != 0 {
					t.Errorf("a pass that was finished is repeated after %s, with %d remembered", after, len(memory.owners))
				}
			}
			memory.wrote(key, written, clk.Now())
			look()
			world.object = nil
			if look(); len(memory.owners) != 0 {
				t.Error("an object that is gone is remembered")
			}
		})
	}
}
