package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
)

// tarpit is a provider that never answers the namespace hostile, until it is drained.
type tarpit struct {
	stuck   atomic.Int32
	drained chan struct{}
}

func (p *tarpit) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	if r.Run.Namespace == "hostile" {
		p.stuck.Add(1)
		defer p.stuck.Add(-1)
		select {
		case <-ctx.Done():
			return metric.Reading{}, ctx.Err()
		case <-p.drained:
		}
	}
	return metric.Reading{Value: 1, Text: "1"}, nil
}

func newTarpit(t *testing.T, most int) (*load, *tarpit) {
	l := newLoad(t, most)
	p := &tarpit{drained: make(chan struct{})}
	providers := registry.Registry{"web": p}
	l.runs.providers, l.runs.flights.providers = providers, providers
	return l, p
}

// addWith adds an AnalysisRun that measures each of its metrics once.
func (l *load) addWith(namespace, name string, metrics int) types.NamespacedName {
	run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), ResourceVersion: "0"}}
	for i := range metrics {
		run.Spec.Metrics = append(run.Spec.Metrics, v1alpha1.Metric{
			Name: fmt.Sprint(i), Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "http://tarpit"}}, FailureLimit: new(intstr.FromInt32(0)),
		})
	}
	key := client.ObjectKeyFromObject(run)
	l.api.mu.Lock()
	l.api.runs[key] = run
	l.api.mu.Unlock()
	return key
}

// drain makes the passes that are asked for until done.
func (l *load) drain(what string, done func() bool) {
	l.Helper()
	for deadline := time.Now().Add(hang); !done(); {
		select {
		case key := <-l.landings.keys:
			l.reconcile(key)
		default:
			if time.Now().After(deadline) {
				l.Fatalf("%s: not within %s", what, hang)
			}
			runtime.Gosched()
		}
	}
}

func (l *load) phase(key types.NamespacedName) v1alpha1.AnalysisPhase {
	l.api.mu.Lock()
	defer l.api.mu.Unlock()
	return l.api.runs[key].Status.Phase
}

// The attack of the security review: 51 AnalysisRuns of 100 metrics each against a server that does not answer.
func TestATarpitKeepsNoOtherNamespaceWaiting(t *testing.T) {
	const runs, metrics = 51, 100
	l, pit := newTarpit(t, 10*runs*metrics)
	var hostile []types.NamespacedName
	for i := range runs {
		hostile = append(hostile, l.addWith("hostile", fmt.Sprint("run-", i), metrics))
		l.reconcile(hostile[i])
	}
	honest := l.addWith("team-b", "honest", 2)
	l.reconcile(honest)
	l.drain("the neighbor's run", func() bool { return l.phase(honest) == v1alpha1.AnalysisPhaseSuccessful })
	if n := pit.stuck.Load(); n > mostFlights/2 {
		t.Errorf("%d measurements of one namespace are in flight, want half of %d at most", n, mostFlights)
	}
	// Those that wait for a place get their turn when there are places.
	close(pit.drained)
	l.drain("the runs that waited", func() bool {
		for _, key := range hostile {
			if l.phase(key) != v1alpha1.AnalysisPhaseSuccessful {
				return false
			}
		}
		return true
	})
	l.runs.flights.mu.Lock()
	defer l.runs.flights.mu.Unlock()
	for namespace, places := range map[string]int64{"hostile": mostFlights / 2, "team-b": mostFlights / 4} {
		if !l.runs.flights.places.Fits(namespace, places) {
			t.Errorf("places of %s were not returned", namespace)
		}
	}
	if n := len(l.runs.flights.tickets) + len(l.runs.flights.offered) + len(l.runs.flights.runs); n != 0 {
		t.Errorf("%d runs are remembered after all have ended", n)
	}
}

func TestRunsThatAreGoneGiveUpTheirPlaceInLine(t *testing.T) {
	l, pit := newTarpit(t, 100_000)
	var hostile []types.NamespacedName
	for i := range 20 {
		hostile = append(hostile, l.addWith("hostile", fmt.Sprint("run-", i), mostOfRun))
		l.reconcile(hostile[i])
	}
	l.api.mu.Lock()
	clear(l.api.runs)
	l.api.mu.Unlock()
	for _, key := range hostile {
		l.reconcile(key)
	}
	l.drain("the end of what is in flight", func() bool { return pit.stuck.Load() == 0 && l.flying() == 0 })
	again := l.addWith("hostile", "again", 1)
	close(pit.drained)
	l.reconcile(again)
	l.drain("the next run", func() bool { return l.phase(again) == v1alpha1.AnalysisPhaseSuccessful })
}

func TestLargeAnswersOfOneNamespaceLeaveRoomForOthers(t *testing.T) {
	m := newByteBudget()
	var held []*claim
	ctx, cancel := context.WithCancel(t.Context())
	grow := func(namespace string, n int64) error {
		c := m.claim(namespace)
		held = append(held, c)
		return c.Grow(ctx, n)
	}
	for range mostBytes / 2 >> 20 {
		if err := grow("hostile", 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	full := make(chan error)
	go func() { full <- m.claim("hostile").Grow(ctx, 1<<20) }()
	until(t, func() bool { return m.waiting() > 0 })
	if err := grow("team-b", 1<<20); err != nil {
		t.Errorf("the neighbor gets no memory: %v", err)
	}
	held[0].release()
	held[1].release()
	if err := received(t, full); err != nil {
		t.Errorf("what waited gets no memory that was returned: %v", err)
	}
	go func() { full <- m.claim("hostile").Grow(ctx, mostBytes) }()
	until(t, func() bool { return m.waiting() > 0 })
	cancel()
	if err := received(t, full); err == nil || !strings.Contains(err.Error(), "ask for less") {
		t.Errorf("what finds no room until its measurement ends is told: %v", err)
	}
}

func (b *byteBudget) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.line.Len()
}

type panicking struct{}

func (panicking) Measure(context.Context, metric.Request) (metric.Reading, error) {
	panic("at the disco")
}

func TestAPanicsStackIsInTheLogOnly(t *testing.T) {
	l := newLoad(t, 100)
	var log bytes.Buffer
	providers := registry.Registry{"web": panicking{}}
	l.runs.providers, l.runs.flights.providers, l.runs.flights.log = providers, providers, slog.New(slog.NewTextHandler(&log, nil))
	key := l.addWith("team-a", "run", 1)
	l.reconcile(key)
	measured := func() *v1alpha1.Measurement {
		var run v1alpha1.AnalysisRun
		if err := l.api.Get(t.Context(), key, &run); err != nil {
			t.Error(err)
		}
		if results := run.Status.MetricResults; len(results) > 0 && len(results[0].Measurements) > 0 {
			return &results[0].Measurements[0]
		}
		return nil
	}
	l.drain("the measurement", func() bool { return measured() != nil && !l.underWay(key) })
	if m := measured().Message; !strings.Contains(m, "the provider panicked") || strings.Contains(m, ".go:") {
		t.Errorf("the status says %q", m)
	}
	if !strings.Contains(log.String(), ".go:") {
		t.Errorf("the log has no stack: %s", log.String())
	}
}

func TestWritesThatAreRefusedWaitLongerEachTime(t *testing.T) {
	refusal := apierrors.NewRequestEntityTooLargeError("limit is 3145728")
	for name, c := range map[string]struct {
		err  error
		want []time.Duration
	}{
		"for good":  {refusal, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Minute}},
		"invalid":   {apierrors.NewInvalid(schema.GroupKind{}, "run", nil), []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Minute}},
		"no answer": {errors.New("EOF"), []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 16 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			for i, failures := range []int{0, 1, 2, 40} {
				if got := retryAfter(failures, c.err); got != c.want[i] {
					t.Errorf("after %d failures it waits %s, want %s", failures, got, c.want[i])
				}
			}
		})
	}
}

// refusing is an API server that refuses all writes for good.
type refusing struct {
	*store
	tried int
}

func (r *refusing) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried++
	return apierrors.NewRequestEntityTooLargeError("limit is 3145728")
}

// An AnalysisRun whose status is refused is not written every second, and does not keep what it measures meanwhile without end.
func TestAStatusThatIsRefusedIsSeldomTried(t *testing.T) {
	l := newLoad(t, 100_000)
	l.unwritten = true
	providers := registry.Registry{"web": &tarpit{}}
	l.runs.providers, l.runs.flights.providers = providers, providers
	key := l.addWith("team-a", "run", 1)
	l.api.runs[key].Spec.Metrics[0].Interval = "1s"
	l.reconcile(key)
	l.drain("the first measurement", func() bool { return len(l.landings.keys) == 0 && !l.underWay(key) })
	api := &refusing{store: l.api}
	l.runs.client = api
	for l.clock.Now().Before(began.Add(10 * time.Minute)) {
		l.reconcile(key)
		l.drain("the write", func() bool { return len(l.landings.keys) == 0 && !l.underWay(key) })
		l.clock.SetTime(l.clock.Now().Add(time.Second))
	}
	if held := len(l.runs.flights.runs[key].results); held > mostOfRun {
		t.Errorf("%d results are held, want %d at most", held, mostOfRun)
	}
	if api.tried > 12 {
		t.Errorf("it was tried %d times in ten minutes, want 12 at most", api.tried)
	}
}

// underWay reports whether a measurement or a write of an AnalysisRun is.
func (l *load) underWay(key types.NamespacedName) bool {
	l.runs.flights.mu.Lock()
	defer l.runs.flights.mu.Unlock()
	run := l.runs.flights.runs[key]
	return run != nil && (len(run.busy) > 0 || run.recording)
}
