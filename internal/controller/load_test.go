package controller

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/record"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// store is an API server that has AnalysisRuns and nothing else.
type store struct {
	client.Client
	mu      sync.Mutex
	runs    map[types.NamespacedName]*v1alpha1.AnalysisRun
	version int
	patches int
	// busy, while it is not nil, is closed when writes get an answer.
	busy chan struct{}
}

func (s *store) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	run, ok := s.runs[key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "analysisruns"}, key.Name)
	}
	run.DeepCopyInto(obj.(*v1alpha1.AnalysisRun))
	return nil
}

func (s *store) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	if _, err := patch.Data(obj); err != nil { // what a real one would be sent
		return err
	}
	s.mu.Lock()
	busy := s.busy
	s.mu.Unlock()
	if busy != nil {
		<-busy
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.patches++
	key := client.ObjectKeyFromObject(obj)
	if s.runs[key].ResourceVersion != obj.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{Resource: "analysisruns"}, key.Name, nil)
	}
	s.version++
	obj.SetResourceVersion(strconv.Itoa(s.version))
	s.runs[key] = obj.(*v1alpha1.AnalysisRun).DeepCopy()
	return nil
}

// hold lets writes wait until answer is called.
func (s *store) hold() (answer func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	busy := make(chan struct{})
	s.busy = busy
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy = nil
		close(busy)
	}
}

func (s *store) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.patches
}

// landings are the AnalysisRuns whose measurements came back.
type landings struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	keys chan types.NamespacedName
}

func (l *landings) AddWithOpts(_ priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, r := range requests {
		l.keys <- r.NamespacedName
	}
}

// load is a controller under a virtual clock, with all its AnalysisRuns.
type load struct {
	*testing.T
	clock    *testingclock.FakePassiveClock
	runs     *AnalysisRunReconciler
	landings *landings
	api      *store
	// wake is when to look at each AnalysisRun.
	wake map[types.NamespacedName]time.Time
	// stuck is how many measurements wait for a server that does not answer.
	stuck int
	// unwritten: writes get no answer, and are not waited for.
	unwritten bool
}

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newLoad(t *testing.T, most int) *load {
	l := &load{
		T: t, clock: testingclock.NewFakePassiveClock(began), wake: map[types.NamespacedName]time.Time{},
		landings: &landings{keys: make(chan types.NamespacedName, most)},
		api:      &store{runs: map[types.NamespacedName]*v1alpha1.AnalysisRun{}},
	}
	l.runs = NewAnalysisRunReconciler(t.Context(), Deps{
		Clock: l.clock, Client: l.api, Live: l.api, Events: &record.FakeRecorder{}, Log: slog.New(slog.DiscardHandler),
	}, registry.New(registry.Options{
		Clock: l.clock, Network: server.NewNetwork(server.Reach{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}),
	}))
	if err := l.runs.Announce(t.Context(), l.landings); err != nil {
		t.Fatal(err)
	}
	return l
}

// add adds an AnalysisRun that asks a server every 10 s.
func (l *load) add(name, url string) {
	run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Namespace: "load", Name: name, UID: types.UID(name), ResourceVersion: "0"}}
	run.Spec.Metrics = []v1alpha1.Metric{{
		Name: "a", Interval: "10s", SuccessCondition: "result < 0.05", FailureLimit: new(intstr.FromInt32(0)),
		Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: url, TimeoutSeconds: 600}},
	}}
	key := client.ObjectKeyFromObject(run)
	l.api.runs[key] = run
	l.wake[key] = began
}

func (l *load) reconcile(key types.NamespacedName) {
	l.Helper()
	result, err := l.runs.Reconcile(l.Context(), reconcile.Request{NamespacedName: key})
	if err != nil {
		l.Fatal(err)
	}
	delete(l.wake, key)
	if result.RequeueAfter > 0 {
		l.wake[key] = l.clock.Now().Add(result.RequeueAfter)
	}
}

// settle looks at what is due, and waits for all that does not wait for the server that is stuck.
func (l *load) settle() {
	l.Helper()
	for key, at := range l.wake {
		if !at.After(l.clock.Now()) {
			l.reconcile(key)
		}
	}
	l.drain("what does not wait for the server", func() bool { return l.flying() <= l.stuck && len(l.landings.keys) == 0 })
}

// flying is how many measurements are under way, or landed and not in a status.
func (l *load) flying() int {
	l.runs.flights.mu.Lock()
	defer l.runs.flights.mu.Unlock()
	n := 0
	for _, run := range l.runs.flights.runs {
		n += len(run.busy)
		if !l.unwritten {
			n += len(run.results)
		}
	}
	return n
}

// advance lets time pass until t.
func (l *load) advance(t time.Time) {
	l.Helper()
	for {
		next := t
		for _, at := range l.wake {
			if at.Before(next) {
				next = at
			}
		}
		l.clock.SetTime(next)
		l.settle()
		if next.Equal(t) {
			return
		}
	}
}

// footprint is what the program holds on to.
func footprint() (goroutines int, heap uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return runtime.NumGoroutine(), m.HeapAlloc
}

// TestAThousandAnalysisRuns measures with 1,000 AnalysisRuns every 10 s under a virtual clock, and really asks a server each time. All come
// in time, beside ten whose server does not answer for 30 s, and nothing grows.
func TestAThousandAnalysisRuns(t *testing.T) {
	const many, few = 1000, 10
	var asked atomic.Int32
	answer := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-answer
		}
		asked.Add(1)
		_, _ = io.WriteString(w, "0.01")
	}))
	defer server.Close()

	l := newLoad(t, 2*many)
	l.stuck = few
	for i := range many {
		l.add(fmt.Sprintf("quick-%d", i), server.URL+"/")
	}
	for i := range few {
		l.add(fmt.Sprintf("slow-%d", i), server.URL+"/slow")
	}
	l.advance(began.Add(30 * time.Second))
	if got := asked.Load(); got != 4*many {
		t.Fatalf("after 30 s the server was asked %d times, want %d: at 0, 10, 20 and 30 s by each but those that wait for it", got, 4*many)
	}
	l.stuck = 0
	close(answer)
	l.settle()

	l.advance(began.Add(110 * time.Second)) // as many measurements as are kept
	goroutines, heap := footprint()
	l.advance(began.Add(loadFor))
	grownTo, heapNow := footprint()
	if grownTo > goroutines+many/4 { // connections that are kept open, as many as there were measurements at once, which is chance
		t.Errorf("goroutines grew from %d to %d", goroutines, grownTo)
	}
	if heapNow > heap+heap/5 {
		t.Errorf("memory grew from %d to %d bytes", heap, heapNow)
	}
	want := int32(loadFor/(10*time.Second)) + 1
	for key, run := range l.api.runs {
		r := run.Status.MetricResults[0]
		late := slices.ContainsFunc(r.Measurements, func(m v1alpha1.Measurement) bool {
			return m.StartedAt.Sub(began)%(10*time.Second) != 0
		})
		slow := run.Spec.Metrics[0].Provider.Web.URL != server.URL+"/"
		if !slow && (r.Count != want || r.Error > 0) || slow && r.Count != want-3 || late {
			t.Errorf("%s: %d measurements and %d errors, late: %t; want %d", key, r.Count, r.Error, late, want)
		}
	}
	t.Logf("%d measurements; goroutines %d → %d, heap %d → %d KiB", asked.Load(), goroutines, grownTo, heap>>10, heapNow>>10)
}

// TestMeasurementsDoNotWaitForWrites lets the API server answer no write for a while: measurements come in time all the same, and count when
// it does, each once and all in one write.
func TestMeasurementsDoNotWaitForWrites(t *testing.T) {
	const many = 100 // more than are written at once
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, "0.01")
	}))
	defer server.Close()
	l := newLoad(t, 10*many)
	for i := range many {
		l.add(fmt.Sprintf("run-%d", i), server.URL)
	}
	l.advance(began.Add(5 * time.Second))
	l.unwritten = true
	answer := l.api.hold()
	l.advance(began.Add(35 * time.Second))
	if got := asked.Load(); got != 4*many {
		t.Errorf("after 35 s the server was asked %d times, want %d: at 0, 10, 20 and 30 s", got, 4*many)
	}
	before := l.api.written()
	l.unwritten = false
	answer()
	l.settle()
	for key, run := range l.api.runs {
		if r := run.Status.MetricResults[0]; r.Count != 4 || len(r.Measurements) != 4 {
			t.Errorf("%s: %+v, want 4 measurements", key, r)
		}
	}
	if written := l.api.written() - before; written > 2*many {
		t.Errorf("%d writes for 3 measurements each of %d runs, want two each at most", written, many)
	}
}
