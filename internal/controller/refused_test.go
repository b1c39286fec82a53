package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

// policed is an API server that refuses to change what has certain names, and remembers what else was changed.
type policed struct {
	oneObject
	refuses map[string]error
	done    []string
}

func (r *policed) answer(verb string, o client.Object) error {
	if err := r.refuses[o.GetName()]; err != nil {
		return err
	}
	r.done = append(r.done, verb+" "+o.GetName())
	return nil
}

func (r *policed) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return r.answer("patch", o)
}

func (r *policed) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	return r.answer("delete", o)
}

func (r *policed) Status() client.SubResourceWriter { return policedStatus{r: r} }

type policedStatus struct {
	client.SubResourceWriter
	r *policed
}

// Patch writes the status into what is observed from now on.
func (s policedStatus) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	to := o.(*v1alpha1.Rollout)
	have := s.r.object.(*v1alpha1.Rollout)
	text, err := patch.Data(o)
	if err != nil {
		return err
	}
	s.r.done = append(s.r.done, "status "+string(text))
	for field, of := range map[string][2]*string{
		"message": {&have.Status.Message, &to.Status.Message}, "observedGeneration": {&have.Status.ObservedGeneration, &to.Status.ObservedGeneration},
		"phase": {(*string)(&have.Status.Phase), (*string)(&to.Status.Phase)},
	} {
		if strings.Contains(string(text), `"`+field+`"`) {
			*of[0] = *of[1]
		}
	}
	have.DeepCopyInto(to)
	return nil
}

// A write that the API server rejects blocks only what depends on it, and nothing is deleted or recorded as
// done. The status says what was rejected, once.
func TestARefusedWriteHoldsBackOnlyWhatDependsOnIt(t *testing.T) {
	forbidden := func(name string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, name, errors.New("a policy says no\x1b[2J"))
	}
	set := func(name string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "u-" + "1"}}
	}
	grow := func(name string) change.Change { return change.UpdateReplicaSet{From: set(name), To: set(name)} }
	service := func(name string) change.Change {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		return change.UpdateService{From: s, To: s}
	}
	route := func(name string) change.Change {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute"}}
		o.SetName(name)
		o.SetNamespace("shop")
		return change.WriteRoute{From: o, To: o}
	}
	planned := plan.Plan{
		Grow:   []change.Change{grow("grow-a"), grow("grow-b")},
		Route:  []change.Change{service("service-a"), service("service-b"), route("route-a"), route("route-b")},
		Judge:  []change.Change{change.DeleteAnalysisRun{Run: &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "judge"}}}},
		Shrink: []change.Change{change.DeleteReplicaSet{ReplicaSet: set("shrink-a")}, change.DeleteReplicaSet{ReplicaSet: set("shrink-b")}},
	}
	all := []string{"patch grow-a", "patch grow-b", "patch service-a", "patch service-b", "patch route-a", "patch route-b", "delete judge", "delete shrink-a", "delete shrink-b"}
	for refused, lost := range map[string][]string{
		"grow-a":    {"patch grow-a", "delete judge", "delete shrink-a", "delete shrink-b"},
		"service-a": {"patch service-a", "patch route-a", "patch route-b", "delete judge", "delete shrink-a", "delete shrink-b"},
		"route-a":   {"patch route-a", "delete judge", "delete shrink-a", "delete shrink-b"},
		"judge":     {"delete judge", "delete shrink-a", "delete shrink-b"},
		"shrink-a":  {"delete shrink-a"},
	} {
		t.Run(refused, func(t *testing.T) {
			ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", ResourceVersion: "5", Generation: 3}}
			api := &policed{oneObject: oneObject{object: ro}, refuses: map[string]error{refused: forbidden(refused)}}
			events := record.NewFakeRecorder(10)
			clk := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
			r := NewRolloutReconciler(Deps{
				Clock: clk, Client: api, Live: api, Log: slog.New(slog.DiscardHandler), Events: events, Meters: telemetry.New(prometheus.NewRegistry(), false),
			})
			apply := func() error {
				next := planned
				to := ro.DeepCopy()
				to.Status.Phase, to.Status.CurrentStepIndex = v1alpha1.RolloutPhaseProgressing, new(int32(7))
				next.Record = &plan.Record{From: ro.DeepCopy(), To: to}
				api.done = nil
				return r.apply(t.Context(), plan.Observed{Rollout: ro.DeepCopy(), Now: clk.Now()}, next)
			}
			want := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(lost, s) })
			var held withheld
			if err := apply(); !errors.As(err, &held) {
				t.Fatalf("it ends with %v", err)
			}
			status := api.done[len(api.done)-1]
			if diff := cmp.Diff(want, api.done[:len(api.done)-1]); diff != "" {
				t.Errorf("what is done (-want +got):\n%s", diff)
			}
			if !strings.Contains(status, `"message":"WriteRefused: `) || !strings.Contains(status, "a policy says no") || strings.Contains(status, "currentStepIndex") ||
				!strings.Contains(status, `"observedGeneration":"3"`) || strings.ContainsRune(ro.Status.Message, '\x1b') {
				t.Errorf("the status is written as %s", status)
			}
			if len(events.Events) != 1 {
				t.Errorf("%d events", len(events.Events))
			}
			if err := apply(); !errors.As(err, &held) {
				t.Fatalf("it ends with %v", err)
			}
			told := 1
			if slices.Contains(want, "patch route-b") {
				told++ // this route is written again as it was before, and so counts as restored
			}
			if diff := cmp.Diff(want, api.done); diff != "" || len(events.Events) != told {
				t.Errorf("what is done the next time, with %d events (-want +got):\n%s", len(events.Events), diff)
			}
		})
	}
}

// A write that failed for another reason ends the pass, as ever: what was observed is no more, or nobody knows what there is.
func TestOtherFailuresEndThePass(t *testing.T) {
	for name, failure := range map[string]error{
		"a conflict": apierrors.NewConflict(schema.GroupResource{}, "grow-a", errors.New("it was changed")), "no answer": errors.New("EOF"),
		"no time": context.DeadlineExceeded,
	} {
		var w withheld
		if w.add(change.UpdateReplicaSet{}, failure) || len(w) > 0 {
			t.Errorf("%s counts as refused", name)
		}
	}
}

// A pass that meets a refusal comes again, neither at once nor later each time.
func TestARefusedWriteIsTriedAgain(t *testing.T) {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "1", ResourceVersion: "5", CreationTimestamp: metav1.Unix(5000, 0), // of this process's time
	}}
	api := &policed{oneObject: oneObject{object: ro}, refuses: map[string]error{"grow": apierrors.NewForbidden(schema.GroupResource{}, "grow", nil)}}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "grow"}}
	r := NewRolloutReconciler(Deps{
		Clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), Client: api, Live: api, Log: slog.New(slog.DiscardHandler),
		Events: record.NewFakeRecorder(10), Meters: telemetry.New(prometheus.NewRegistry(), false),
		Engine: func(plan.Observed) plan.Plan {
			return plan.Plan{Grow: []change.Change{change.UpdateReplicaSet{From: set, To: set}}}
		},
	})
	for range 3 {
		result, err := r.pass(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(ro)})
		if err != nil || result.RequeueAfter != refusedRetry {
			t.Errorf("it comes again after %s (%v), want %s", result.RequeueAfter, err, refusedRetry)
		}
	}
}

// A pass whose labels take long leaves the rest to the next one, which comes at once.
func TestLabelsThatTakeLongGoOnInTheNextPass(t *testing.T) {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", ResourceVersion: "5"}}
	clk := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	api := &slow{oneObject: oneObject{object: ro}, takes: func() { clk.SetTime(clk.Now().Add(time.Second)) }}
	r := NewRolloutReconciler(Deps{Clock: clk, Client: api, Live: api, Log: slog.New(slog.DiscardHandler), Meters: telemetry.New(prometheus.NewRegistry(), false)})
	var p plan.Plan
	for range 500 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pod"}}
		p.Label = append(p.Label, change.UpdatePod{From: pod, To: pod})
	}
	seen := plan.Observed{Rollout: ro, Now: clk.Now()}
	if err := r.label(t.Context(), seen, &p); err != nil || !p.Wake.Equal(seen.Now) {
		t.Errorf("it comes again at %s (%v), want at once", p.Wake, err)
	}
	if took := clk.Now().Sub(seen.Now); took >= longestPass || api.writes == 0 {
		t.Errorf("%d labels took %s of the %s that a pass has", api.writes, took, longestPass)
	}
}

// slow takes its time for each write.
type slow struct {
	oneObject
	takes  func()
	writes int
}

func (s *slow) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	s.writes++
	s.takes()
	return nil
}

// stubborn is a provider whose measurements cannot be ended or cleared away.
type stubborn struct {
	metric.Asynchronous
	err error
}

func (stubborn) Measure(context.Context, metric.Request) (metric.Reading, error) {
	return metric.Reading{}, nil
}

func (s stubborn) Stop(context.Context, metric.Request) error { return s.err }

func (s stubborn) Forget(context.Context, metric.Request) error { return s.err }

// A Job that the API server does not let the controller delete keeps no verdict from being written. One of which nobody knows whether it was
// deleted does, for the record would be the end of trying.
func TestAVerdictWaitsForNoJobThatMayNotBeDeleted(t *testing.T) {
	forbidden := fmt.Errorf("delete Job: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "a", errors.New("a policy says no")))
	for name, c := range map[string]struct {
		err     error
		written bool
	}{"refused": {forbidden, true}, "without an answer": {errNoAnswer, false}, "done": {nil, true}} {
		for what, plan := range map[string]measure.Plan{"ended": {Stop: make([]measure.Task, 1)}, "cleared away": {Forget: make([]measure.Task, 1)}} {
			t.Run(what+" "+name, func(t *testing.T) {
				r := newRuns(t, &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "run", UID: "run", ResourceVersion: "5"}})
				r.providers = registry.Registry{"job": stubborn{err: c.err}}
				r.plan = func(o measure.Observed) measure.Plan {
					task := measure.Task{Request: metric.Request{Run: metric.Run{Namespace: "shop", Name: "run"}, Metric: v1alpha1.Metric{Provider: v1alpha1.MetricProvider{Job: &v1alpha1.JobMetric{}}}}}
					next := measure.Plan{Stop: slices.Clone(plan.Stop), Forget: slices.Clone(plan.Forget)}
					for _, tasks := range [][]measure.Task{next.Stop, next.Forget} {
						for i := range tasks {
							tasks[i] = task
						}
					}
					to := o.Run.DeepCopy()
					to.Status.Phase = v1alpha1.AnalysisPhaseFailed
					next.Record = &measure.Record{From: o.Run, To: to}
					return next
				}
				_, err := r.pass()
				if (err == nil) != c.written || (r.writes == 1) != c.written {
					t.Errorf("%d writes, error %v", r.writes, err)
				}
			})
		}
	}
}
