package controller

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

// mute is an API server whose answers to writes get lost while it is silent, and a cache that shows what it was given last.
type mute struct {
	client.Client
	live client.WithWatch
	// cached is nil where the cache shows all.
	cached client.Reader
	// silent: writes get no answer. lost: they are not done either.
	silent, lost bool
	writes       int
}

var errNoAnswer = errors.New("read tcp: i/o timeout")

func newMute(objects ...client.Object) *mute {
	stored := func() client.WithWatch {
		b := fake.NewClientBuilder().WithScheme(Scheme()).WithStatusSubresource(&v1alpha1.Rollout{})
		for _, o := range objects {
			b = b.WithObjects(o.DeepCopyObject().(client.Object))
		}
		return b.Build()
	}
	m := &mute{live: stored(), cached: stored()}
	m.Client = interceptor.NewClient(m.live, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if o.GetUID() == "" && !m.lost {
				o.SetUID("made") // as an API server does
			}
			return m.write(func() error { return c.Create(ctx, o, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			return m.write(func() error { return c.Patch(ctx, o, p, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			return m.write(func() error { return c.Delete(ctx, o, options...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, o client.Object, options ...client.SubResourceUpdateOption) error {
			return m.write(func() error { return c.SubResource(name).Update(ctx, o, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
			return m.write(func() error { return c.SubResource(name).Patch(ctx, o, p, options...) })
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if m.cached != nil {
				return m.cached.Get(ctx, key, o, options...)
			}
			return c.Get(ctx, key, o, options...)
		},
	})
	return m
}

func (m *mute) write(do func() error) error {
	m.writes++
	if m.silent && m.lost {
		return errNoAnswer
	}
	if err := do(); err != nil || !m.silent {
		return err
	}
	return errNoAnswer
}

// catchUp brings the cache up to date.
func (m *mute) catchUp() { m.cached = nil }

// cachedVersion is the version of an object that the cache shows, which is none where it has no such object.
func (m *mute) cachedVersion(t *testing.T, like client.Object) versions {
	t.Helper()
	obj, there, err := read(t.Context(), m.Client, like)
	if err != nil {
		t.Fatal(err)
	}
	if !there {
		return versions{}
	}
	return versions{obj.GetUID(): obj.GetResourceVersion()}
}

func (m *mute) parts(clk *clocktesting.FakePassiveClock) Deps {
	return Deps{
		Clock: clk, Client: m.Client, Live: m.live, Log: slog.New(slog.DiscardHandler), Events: record.NewFakeRecorder(10),
		Meters: telemetry.New(prometheus.NewRegistry(), false),
	}
}

// Whatever a Rollout writes, a write that was done and not answered is waited for like any other, and one that was not done holds nobody up.
func TestAWriteWithoutAnAnswerIsWaitedFor(t *testing.T) {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "ro", ResourceVersion: "1"}}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("u-" + name), ResourceVersion: "5", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(ro, v1alpha1.GroupVersion.WithKind(v1alpha1.KindRollout)),
		}}
	}
	ingress := networkingv1.SchemeGroupVersion.WithKind("Ingress")
	route := func(version string) *unstructured.Unstructured {
		o := emptyOf(ingress)
		of := meta("web-canary")
		o.SetNamespace(of.Namespace)
		o.SetName(of.Name)
		o.SetOwnerReferences(of.OwnerReferences)
		if version != "" {
			o.SetUID(of.UID)
			o.SetResourceVersion(version)
		}
		return o
	}
	weighted := route("5")
	weighted.SetAnnotations(map[string]string{"nginx.ingress.kubernetes.io/canary-weight": "20"})
	deployment := &appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{Replicas: new(int32(4))}}
	fewer := deployment.DeepCopy()
	fewer.Spec.Replicas = new(int32(1))
	set := &appsv1.ReplicaSet{ObjectMeta: meta("web-1"), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(4))}}
	more := set.DeepCopy()
	more.Spec.Replicas = new(int32(5))
	made := set.DeepCopy()
	made.UID, made.ResourceVersion = "", ""
	service := &corev1.Service{ObjectMeta: meta("web")}
	pointed := service.DeepCopy()
	pointed.Spec.Selector = map[string]string{"a": "b"}
	run := &v1alpha1.AnalysisRun{ObjectMeta: meta("web-run")}
	ended := run.DeepCopy()
	ended.Spec.Terminate = true

	for name, c := range map[string]struct {
		before client.Object // nil for nothing
		made   change.Change
		like   client.Object
	}{
		"a route is created":        {nil, change.WriteRoute{To: route("")}, route("")},
		"a route is changed":        {route("5"), change.WriteRoute{From: route("5"), To: weighted}, route("")},
		"a route is deleted":        {route("5"), change.WriteRoute{From: route("5")}, route("")},
		"a workload is scaled":      {deployment, change.ScaleWorkload{From: deployment, To: fewer}, deployment},
		"a ReplicaSet is created":   {nil, change.CreateReplicaSet{ReplicaSet: made}, set},
		"a ReplicaSet is changed":   {set, change.UpdateReplicaSet{From: set, To: more}, set},
		"a ReplicaSet is deleted":   {set, change.DeleteReplicaSet{ReplicaSet: set}, set},
		"a Service is pointed":      {service, change.UpdateService{From: service, To: pointed}, service},
		"an AnalysisRun is ended":   {run, change.TerminateAnalysisRun{From: run, To: ended}, run},
		"an AnalysisRun is deleted": {run, change.DeleteAnalysisRun{Run: run}, run},
	} {
		for _, lost := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", and is not"}[lost], func(t *testing.T) {
				var objects []client.Object
				if c.before != nil {
					objects = append(objects, c.before)
				}
				clk := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
				m := newMute(objects...)
				m.silent, m.lost = true, lost
				r := NewRolloutReconciler(m.parts(clk))
				if err := r.change(t.Context(), ro, c.made); !errors.Is(err, errNoAnswer) {
					t.Fatalf("the write ended with %v", err)
				}
				m.silent = false
				caughtUp := func() error {
					return r.catchUp(t.Context(), client.ObjectKeyFromObject(ro), m.cachedVersion(t, c.like), clk.Now())
				}
				want := errBehind
				if lost {
					want = nil
				}
				if err := caughtUp(); !errors.Is(err, want) {
					t.Errorf("while the cache lags the next pass is told %v, not %v", err, want)
				}
				m.catchUp()
				if err := caughtUp(); err != nil {
					t.Errorf("when the cache shows it the next pass is told %v", err)
				}
			})
		}
	}
}

// runs plays passes over one AnalysisRun.
type runs struct {
	*testing.T
	*mute
	*AnalysisRunReconciler
	clock *clocktesting.FakePassiveClock
	plan  func(measure.Observed) measure.Plan
	aside []func()
	seen  int
}

// noNews delivers nothing to any queue.
type noNews struct {
	priorityqueue.PriorityQueue[reconcile.Request]
}

func (noNews) AddWithOpts(priorityqueue.AddOpts, ...reconcile.Request) {}

// delays are after how long AnalysisRuns are to be looked at for the sake of what could not be written.
type delays struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	all []time.Duration
}

func (d *delays) AddWithOpts(o priorityqueue.AddOpts, _ ...reconcile.Request) {
	if o.After > 0 {
		d.all = append(d.all, o.After/time.Millisecond)
	}
}

func newRuns(t *testing.T, run *v1alpha1.AnalysisRun) *runs {
	r := &runs{T: t, mute: newMute(run), clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0))}
	parts := r.parts(r.clock)
	parts.Go = func(do func()) { r.aside = append(r.aside, do) }
	parts.Measure = func(o measure.Observed) measure.Plan {
		r.seen++
		return r.plan(o)
	}
	r.AnalysisRunReconciler = NewAnalysisRunReconciler(t.Context(), parts, nil)
	if err := r.Announce(t.Context(), noNews{}); err != nil {
		t.Fatal(err)
	}
	return r
}

// pass makes a pass, and what it leaves to others.
func (r *runs) pass() (reconcile.Result, error) {
	result, err := r.Reconcile(r.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "run"}})
	for len(r.aside) > 0 {
		do := r.aside[0]
		r.aside = r.aside[1:]
		do()
	}
	return result, err
}

// A status, a deletion and measurements that are written beside the passes are not written again while a cache does not show that they were,
// although nobody has answered.
func TestAnAnalysisRunsWriteWithoutAnAnswerIsNotDoneAgain(t *testing.T) {
	running := v1alpha1.AnalysisRunStatus{Phase: v1alpha1.AnalysisPhaseRunning, StartedAt: new(metav1.NewTime(time.Unix(900, 0)))}
	run := &v1alpha1.AnalysisRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "run", UID: "run", ResourceVersion: "5"}, Status: running,
	}
	task := measure.Task{Request: metric.Request{Run: metric.Run{Namespace: "shop", Name: "run", UID: "run"}, Metric: v1alpha1.Metric{Name: "a"}}}
	record := func(o measure.Observed, change func(*v1alpha1.AnalysisRunStatus)) *measure.Record {
		to := o.Run.DeepCopy()
		if change(&to.Status); to.Status.Message == o.Run.Status.Message {
			return nil
		}
		return &measure.Record{From: o.Run, To: to}
	}
	for name, next := range map[string]func(measure.Observed) measure.Plan{
		"the end of a run": func(o measure.Observed) measure.Plan {
			return measure.Plan{Record: record(o, func(s *v1alpha1.AnalysisRunStatus) { s.Phase, s.Message = v1alpha1.AnalysisPhaseFailed, "ended" })}
		},
		"measurements, aside": func(o measure.Observed) measure.Plan {
			if len(o.Results) == 0 && o.Run.Status.Message == "" {
				return measure.Plan{Measure: []measure.Task{task}}
			}
			return measure.Plan{Record: record(o, func(s *v1alpha1.AnalysisRunStatus) { s.Message = "measured" })}
		},
		"a deletion": func(measure.Observed) measure.Plan { return measure.Plan{Delete: "it is old"} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRuns(t, run)
			r.plan, r.silent = next, true
			for r.writes == 0 && r.seen < 5 {
				if _, err := r.pass(); err != nil && !errors.Is(err, errNoAnswer) {
					t.Fatal(err)
				}
			}
			if r.writes != 1 {
				t.Fatalf("%d writes, not one", r.writes)
			}
			r.silent = false
			for range 4 {
				r.clock.SetTime(r.clock.Now().Add(30 * time.Second)) // when what failed is tried again
				if _, err := r.pass(); err != nil {
					t.Fatal(err)
				}
			}
			if r.writes != 1 {
				t.Errorf("while the cache does not show the write that got no answer, there were %d more", r.writes-1)
			}
			r.catchUp()
			decided := r.seen
			if result, err := r.pass(); err != nil || result.RequeueAfter > 0 || r.writes != 1 {
				t.Errorf("when the cache shows it, the pass asks for %v, with %v and %d writes", result, err, r.writes)
			}
			if _, err := r.pass(); err != nil || name != "a deletion" && r.seen < decided+2 {
				t.Errorf("after that, %d decisions, %v", r.seen-decided, err)
			}
		})
	}
}

// Where the API server answers nobody, runs go on measuring: only a write waits for what became of the one before.
func TestMeasurementsGoOnWhereTheAPIServerAnswersNobody(t *testing.T) {
	running := v1alpha1.AnalysisRunStatus{Phase: v1alpha1.AnalysisPhaseRunning, StartedAt: new(metav1.NewTime(time.Unix(900, 0)))}
	run := &v1alpha1.AnalysisRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "run", UID: "run", ResourceVersion: "5"}, Status: running,
	}
	r := newRuns(t, run)
	r.silent, r.lost = true, true
	r.live = interceptor.NewClient(r.live, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errNoAnswer
		},
	})
	r.AnalysisRunReconciler.live = r.live
	measured := 0
	r.plan = func(o measure.Observed) measure.Plan {
		if len(o.Results) > measured {
			measured = len(o.Results)
		}
		p := measure.Plan{Measure: []measure.Task{{Request: metric.Request{Run: metric.Run{Namespace: "shop", Name: "run", UID: "run"}, Metric: v1alpha1.Metric{Name: "a"}}}}}
		if len(o.Results) > 0 {
			to := o.Run.DeepCopy()
			to.Status.Message = "measured"
			p.Record = &measure.Record{From: o.Run, To: to}
		}
		return p
	}
	for range 5 {
		r.clock.SetTime(r.clock.Now().Add(30 * time.Second))
		if _, err := r.pass(); err != nil {
			t.Fatal(err)
		}
	}
	if measured < 4 {
		t.Errorf("%d results came in, want one of each pass before the last", measured)
	}
	if r.writes != 1 {
		t.Errorf("%d writes were tried, want the first: what became of it is not known", r.writes)
	}
}

// What is waited for comes: not that a finalizer lets go of what was deleted, nor that a cache shows what caches never have.
func TestWhatIsNotWaitedFor(t *testing.T) {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "ro", ResourceVersion: "1"}}
	kept := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-1", UID: "rs", ResourceVersion: "5", Finalizers: []string{"example.com/keep"},
	}}
	notes := emptyOf(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	notes.SetNamespace("shop")
	notes.SetName("notes")
	notes.SetUID("notes")
	notes.SetResourceVersion("5")
	edited := notes.DeepCopy()
	edited.SetAnnotations(map[string]string{"a": "b"})
	for name, c := range map[string]struct {
		have client.Object
		made change.Change
		// want is what a pass is told while the cache lags.
		want error
	}{
		"an object that a finalizer keeps":      {kept, change.DeleteReplicaSet{ReplicaSet: kept}, errBehind},
		"an object that every pass reads again": {notes, change.WriteRoute{From: notes, To: edited}, nil},
	} {
		for _, silent := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", without an answer"}[silent], func(t *testing.T) {
				clk := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
				m := newMute(c.have)
				m.silent = silent
				r := NewRolloutReconciler(m.parts(clk))
				if err := r.change(t.Context(), ro, c.made); err != nil != silent {
					t.Fatal(err)
				}
				seen := m.cachedVersion(t, c.have)
				if err := r.catchUp(t.Context(), client.ObjectKeyFromObject(ro), seen, clk.Now()); !errors.Is(err, c.want) {
					t.Errorf("while the cache lags the next pass is told %v, not %v", err, c.want)
				}
				m.catchUp()
				seen = m.cachedVersion(t, c.have)
				if err := r.catchUp(t.Context(), client.ObjectKeyFromObject(ro), seen, clk.Now()); err != nil {
					t.Errorf("when the cache shows what there is the next pass is told %v", err)
				}
			})
		}
	}
}

// While a cache does not show someone else's write to a run, measurements are written less and less often.
func TestConflictsOfMeasurementsAreSeldomer(t *testing.T) {
	running := v1alpha1.AnalysisRunStatus{Phase: v1alpha1.AnalysisPhaseRunning, StartedAt: new(metav1.NewTime(time.Unix(900, 0)))}
	run := &v1alpha1.AnalysisRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "run", UID: "run", ResourceVersion: "5"}, Status: running,
	}
	r, queue := newRuns(t, run), &delays{}
	if err := r.Announce(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	r.plan = func(o measure.Observed) measure.Plan {
		if len(o.Results) == 0 {
			return measure.Plan{Measure: []measure.Task{{Request: metric.Request{
				Run: metric.Run{Namespace: "shop", Name: "run", UID: "run"}, Metric: v1alpha1.Metric{Name: "a"},
			}}}}
		}
		to := o.Run.DeepCopy()
		to.Status.Message = "measured"
		return measure.Plan{Record: &measure.Record{From: o.Run, To: to}}
	}
	edited := run.DeepCopy()
	edited.Labels = map[string]string{"somebody": "else"}
	if err := r.live.Patch(t.Context(), edited, client.MergeFrom(run)); err != nil {
		t.Fatal(err)
	}
	want := []time.Duration{100, 200, 400, 800, 1600, 2000, 2000}
	for range len(want) + 1 {
		if _, err := r.pass(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(queue.all, want) {
		t.Errorf("tried again after %d ms, not %d", queue.all, want)
	}
	r.catchUp()
	if _, err := r.pass(); err != nil || len(queue.all) > len(want) {
		t.Errorf("when the cache shows it: %v, tried again after %d ms", err, queue.all)
	}
}
