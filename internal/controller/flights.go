package controller

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
)

const (
	// mostFlights is how many measurements are under way at most. It bounds memory, not speed: one that waits for its server costs
	// nothing else, and so a slow server delays nobody.
	mostFlights = 5000
	// mostPens is how many statuses are written at once that only tell of measurements.
	mostPens = 30
	// whenFull is how long to wait when there are that many.
	whenFull = time.Second
)

// flights are the measurements that are under way, and the results of those that came back and are not in a status yet. No worker waits
// for them: an AnalysisRun is looked at again when one of its measurements lands.
type flights struct {
	base      context.Context //nolint:containedctx // measurements outlive the pass that begins them
	clock     clock.PassiveClock
	providers registry.Registry
	// landed is told of AnalysisRuns to look at, after a while.
	landed func(types.NamespacedName, time.Duration)

	// pens bounds how many statuses are written at once.
	pens chan struct{}

	// start begins what nobody waits for.
	start func(func())

	mu    sync.Mutex
	runs  map[types.NamespacedName]*runFlights
	count int
}

// runFlights are those of one AnalysisRun.
type runFlights struct {
	uid     types.UID
	busy    map[string]context.CancelFunc
	results []measure.Result
	// recording: results are being written into the status; waiting: a pass waits until they are.
	recording, waiting bool
}

func newFlights(ctx context.Context, clk clock.PassiveClock, providers registry.Registry) *flights {
	return &flights{
		base: ctx, clock: clk, providers: providers, start: func(do func()) { go do() },
		landed: func(types.NamespacedName, time.Duration) {}, runs: map[types.NamespacedName]*runFlights{}, pens: make(chan struct{}, mostPens),
	}
}

// later is the priority of results, and inTime that of measurements that are due.
const (
	later  = -1
	inTime = 0
)

// announce has a queue told of AnalysisRuns whose measurements land.
func (f *flights) announce(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	ordered, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		return fmt.Errorf("the queue of AnalysisRuns is a %T, which knows no priorities", queue)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.landed = func(key types.NamespacedName, after time.Duration) {
		ordered.AddWithOpts(priorityqueue.AddOpts{Priority: new(later), After: after}, reconcile.Request{NamespacedName: key})
	}
	return nil
}

// of are the results of an AnalysisRun that are not in its status yet, and the metrics that are being measured. Those of an earlier
// object of that name are dropped.
func (f *flights) of(key types.NamespacedName, uid types.UID) (results []measure.Result, busy []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	run := f.runs[key]
	switch {
	case run == nil:
		return nil, nil
	case run.uid != uid:
		f.drop(key)
		return nil, nil
	}
	for name := range run.busy {
		busy = append(busy, name)
	}
	slices.Sort(busy)
	return slices.Clone(run.results), busy
}

// dealtWith forgets the first results of an AnalysisRun: they are in its status, or of no use.
func (f *flights) dealtWith(key types.NamespacedName, results int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if run := f.runs[key]; run != nil {
		run.results = run.results[min(results, len(run.results)):]
		f.tidy(key)
	}
}

// cancel ends measurements whose results nobody waits for. They land all the same, at once.
func (f *flights) cancel(key types.NamespacedName, metrics []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if run := f.runs[key]; run != nil {
		for _, name := range metrics {
			if cancel := run.busy[name]; cancel != nil {
				cancel()
			}
		}
	}
}

// forget ends all that is under way for an AnalysisRun.
func (f *flights) forget(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(key)
}

func (f *flights) drop(key types.NamespacedName) {
	if run := f.runs[key]; run != nil {
		for _, cancel := range run.busy {
			cancel()
		}
		delete(f.runs, key)
	}
}

func (f *flights) tidy(key types.NamespacedName) {
	if run := f.runs[key]; run != nil && len(run.busy) == 0 && len(run.results) == 0 && !run.recording {
		delete(f.runs, key)
	}
}

// begin begins a measurement. It reports false if there are too many.
func (f *flights) begin(key types.NamespacedName, task measure.Task) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count >= mostFlights {
		return false
	}
	run := f.runs[key]
	if run == nil || run.uid != task.Run.UID {
		f.drop(key)
		run = &runFlights{uid: task.Run.UID, busy: map[string]context.CancelFunc{}}
		f.runs[key] = run
	}
	ctx, cancel := context.WithCancel(f.base)
	run.busy[task.Metric.Name] = cancel
	f.count++
	f.start(func() {
		result := f.fly(ctx, task)
		result.Cancelled = ctx.Err() != nil
		cancel()
		f.land(key, result)
	})
	return true
}

// isRecording reports whether results of an AnalysisRun are being written. If the pass that asks has to wait for that, the AnalysisRun is
// looked at again behind it.
func (f *flights) isRecording(key types.NamespacedName, waits bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	run := f.runs[key]
	if run == nil || !run.recording {
		return false
	}
	run.waiting = run.waiting || waits
	return true
}

// record writes the first results of an AnalysisRun into its status, beside the passes: where the API server is slow, measurements go on in
// time, and the next write has all that came back meanwhile.
func (f *flights) record(key types.NamespacedName, results int, write func(context.Context) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	run := f.runs[key]
	if run == nil {
		return // it is gone
	}
	run.recording = true
	f.start(func() {
		f.pens <- struct{}{}
		err := write(f.base)
		<-f.pens
		f.recorded(key, run, results, err)
	})
}

func (f *flights) recorded(key types.NamespacedName, run *runFlights, results int, err error) {
	f.mu.Lock()
	again := run.waiting || err != nil
	run.recording, run.waiting = false, false
	if err == nil {
		run.results = run.results[results:]
		again = again || len(run.results) > 0
	}
	wanted := f.runs[key] == run
	if wanted {
		f.tidy(key)
	}
	landed := f.landed
	f.mu.Unlock()
	var after time.Duration
	switch {
	case movedOn(err):
		after = lookAgain
	case err != nil:
		after = whenFull
	}
	if again && wanted {
		landed(key, after)
	}
}

// land takes a result in and has its AnalysisRun looked at.
func (f *flights) land(key types.NamespacedName, result measure.Result) {
	f.mu.Lock()
	f.count--
	run := f.runs[key]
	wanted := run != nil && run.uid == result.Run.UID
	if wanted {
		delete(run.busy, result.Metric.Name)
		run.results = append(run.results, result)
	}
	landed := f.landed
	f.mu.Unlock()
	if wanted {
		landed(key, 0)
	}
}

// fly measures. A provider that breaks down breaks its measurement, and nothing else.
func (f *flights) fly(ctx context.Context, task measure.Task) (result measure.Result) {
	result = measure.Result{Task: task, StartedAt: f.clock.Now()}
	defer func() {
		if broken := recover(); broken != nil {
			result.Err = fmt.Sprintf("the provider broke down: %v\n%s", broken, debug.Stack())
		}
		result.FinishedAt = f.clock.Now()
	}()
	reading, err := f.ask(ctx, task)
	if err != nil {
		result.Err = err.Error()
		return result
	}
	result.Reading = reading
	return result
}

func (f *flights) ask(ctx context.Context, task measure.Task) (metric.Reading, error) {
	name := metric.NameOf(task.Metric.Provider)
	provider, ok := f.providers[name]
	if !ok {
		return metric.Reading{}, fmt.Errorf("provider %q is not part of this version", name)
	}
	if task.Begun == nil {
		return provider.Measure(ctx, task.Request)
	}
	asynchronous, ok := provider.(metric.Asynchronous)
	if !ok {
		return metric.Reading{}, fmt.Errorf("provider %q cannot go on with a measurement: it was begun by another version", name)
	}
	return asynchronous.Resume(ctx, task.Request)
}
