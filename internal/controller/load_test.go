package controller

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
)

// store is an API server that has AnalysisRuns and nothing else.
type store struct {
	client.Client
	mu      sync.Mutex
	runs    map[types.NamespacedName]*v1alpha1.AnalysisRun
	version int
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
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	if s.runs[key].ResourceVersion != obj.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{Resource: "analysisruns"}, key.Name, nil)
	}
	s.version++
	obj.SetResourceVersion(strconv.Itoa(s.version))
	s.runs[key] = obj.(*v1alpha1.AnalysisRun).DeepCopy()
	return nil
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
	runs     *AnalysisRuns
	landings *landings
	// wake is when to look at each AnalysisRun.
	wake map[types.NamespacedName]time.Time
	// stuck is how many measurements wait for a server that does not answer.
	stuck int
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
	for l.flying() > l.stuck {
		l.reconcile(<-l.landings.keys)
	}
	for len(l.landings.keys) > 0 {
		l.reconcile(<-l.landings.keys)
	}
}

// flying is how many measurements are under way, or landed and not looked at.
func (l *load) flying() int {
	l.runs.flights.mu.Lock()
	defer l.runs.flights.mu.Unlock()
	n := 0
	for _, run := range l.runs.flights.runs {
		n += len(run.busy) + len(run.results)
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

	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := &load{
		T: t, clock: testingclock.NewFakePassiveClock(began), wake: map[types.NamespacedName]time.Time{},
		landings: &landings{keys: make(chan types.NamespacedName, 2*many)}, stuck: few,
	}
	api := &store{runs: map[types.NamespacedName]*v1alpha1.AnalysisRun{}}
	add := func(name, path string) {
		run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Namespace: "load", Name: name, UID: types.UID(name), ResourceVersion: "0"}}
		run.Spec.Metrics = []v1alpha1.Metric{{
			Name: "a", Interval: "10s", SuccessCondition: "result < 0.05", FailureLimit: new(intstr.FromInt32(0)),
			Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: server.URL + path, TimeoutSeconds: 600}},
		}}
		key := client.ObjectKeyFromObject(run)
		api.runs[key] = run
		l.wake[key] = began
	}
	for i := range many {
		add(fmt.Sprintf("quick-%d", i), "/")
	}
	for i := range few {
		add(fmt.Sprintf("slow-%d", i), "/slow")
	}
	l.runs = NewAnalysisRuns(t.Context(), l.clock, api, api, &record.FakeRecorder{}, slog.New(slog.DiscardHandler),
		registry.New(registry.Options{Clock: l.clock}))
	if err := l.runs.flights.announce(t.Context(), l.landings); err != nil {
		t.Fatal(err)
	}

	l.advance(began.Add(30 * time.Second))
	if got := asked.Load(); got != 4*many {
		t.Fatalf("after 30 s the server was asked %d times, want %d: at 0, 10, 20 and 30 s by each but those that wait for it", got, 4*many)
	}
	l.stuck = 0
	close(answer)
	l.settle()

	l.advance(began.Add(2 * time.Minute)) // as many measurements as are kept
	goroutines, heap := footprint()
	l.advance(began.Add(loadFor))
	grownTo, heapNow := footprint()
	if grownTo > goroutines+50 {
		t.Errorf("goroutines grew from %d to %d", goroutines, grownTo)
	}
	if heapNow > heap+heap/5 {
		t.Errorf("memory grew from %d to %d bytes", heap, heapNow)
	}
	want := int32(loadFor/(10*time.Second)) + 1
	for key, run := range api.runs {
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
