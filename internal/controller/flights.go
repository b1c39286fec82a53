package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/fair"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
)

const (
	// mostFlights is how many measurements are in flight. It bounds memory: a connection that waits for its server takes about 40 KiB.
	// Namespaces share them: one that fills its share leaves half of what there is to the others.
	mostFlights = 3000
	// mostOfRun is how many measurements of one AnalysisRun are in flight.
	mostOfRun = 100
	// longestFlight ends a measurement that its provider does not end.
	longestFlight = 2 * metric.LongestTimeout
	// mostPens is how many statuses that only report measurements are written at once.
	mostPens = 30
	// retryFirst, retryLongest and refusedLongest are how long a status that could not be written waits: twice as long each time, up to
	// retryLongest, or to refusedLongest where the API server refuses it for good.
	retryFirst, retryLongest, refusedLongest = time.Second, 16 * time.Second, 5 * time.Minute
)

// inFlight are the measurements in flight, and the results that are not in a status yet. No worker waits for them: an
// AnalysisRun is requeued when one of its measurements finishes.
//
// A measurement takes a place until its result is in the status. Namespaces share the places. An AnalysisRun that finds none waits in line, and the places that become free are offered to the namespaces
// in turn.
type inFlight struct {
	base      context.Context //nolint:containedctx // measurements outlive the pass that begins them
	clock     clock.PassiveClock
	log       *slog.Logger
	providers registry.Registry
	bytes     *byteBudget
	// secrets reads those that metrics name.
	secrets metric.ReadSecret
	// look adds AnalysisRuns to the queue. It is set before the first reconcile, and called without the lock.
	look func(types.NamespacedName, priorityqueue.AddOpts)

	// pens bounds how many statuses are written at once, and judging how many results are judged at once: the namespaces take turns.
	pens, judging *fair.Places

	// start begins what nobody waits for.
	start func(func())

	mu     sync.Mutex
	runs   map[types.NamespacedName]*runInFlight
	places *fair.Shares
	// line are the AnalysisRuns that wait for a place, tickets where they stand in it.
	line    fair.Turns[types.NamespacedName]
	tickets map[types.NamespacedName]*fair.Ticket[types.NamespacedName]
	// offered are the AnalysisRuns for which a place is taken until their next pass ends.
	offered map[types.NamespacedName]bool
}

// runInFlight are those of one AnalysisRun.
type runInFlight struct {
	uid     types.UID
	busy    map[string]context.CancelFunc
	results []landing
	// recording: results are being written into the status; waiting: a pass waits until they are.
	recording, waiting bool
	// failures is how often in a row that failed, refused what could not be written, and retry when it is tried again.
	failures int
	refused  string
	retry    time.Time
}

// landing is the result of a measurement, with the memory that it holds until it is in a status.
type landing struct {
	measure.Result
	claim *claim
}

func newInFlight(ctx context.Context, p Deps, providers registry.Registry) *inFlight {
	f := &inFlight{
		base: ctx, clock: p.Clock, log: p.Log, providers: providers, secrets: p.readSecret, start: p.Go, bytes: newByteBudget(),
		look: func(types.NamespacedName, priorityqueue.AddOpts) {}, runs: map[types.NamespacedName]*runInFlight{}, pens: fair.NewPlaces(mostPens, mostPens),
		places: fair.NewShares(mostFlights, 1), tickets: map[types.NamespacedName]*fair.Ticket[types.NamespacedName]{},
		offered: map[types.NamespacedName]bool{}, judging: fair.NewPlaces(1, 1),
	}
	if f.start == nil {
		f.start = func(do func()) { go survive(p.Log, do) }
	}
	if p.Namespace != "" { // there is nobody to share with
		f.places, f.bytes.shares = fair.NewShares(mostFlights, 0), fair.NewShares(mostBytes, 0)
	}
	return f
}

// later is the priority of results, and inTime that of measurements that are due.
const (
	later  = -1
	inTime = 0
)

// announce sets the queue that AnalysisRuns are added to when their measurements finish.
func (f *inFlight) announce(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	ordered, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		return fmt.Errorf("the queue of AnalysisRuns is a %T, which knows no priorities", queue)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look = func(key types.NamespacedName, o priorityqueue.AddOpts) {
		ordered.AddWithOpts(o, reconcile.Request{NamespacedName: key})
	}
	return nil
}

// of are the results of an AnalysisRun that are not in its status yet, and the metrics that are being measured. Those of an earlier
// object of that name are dropped.
func (f *inFlight) of(key types.NamespacedName, uid types.UID) (results []measure.Result, busy []string) {
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
	for _, l := range run.results {
		results = append(results, l.Result)
	}
	return results, busy
}

// dealtWith forgets the first results of an AnalysisRun: they are in its status, or of no use.
func (f *inFlight) dealtWith(key types.NamespacedName, results int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if run := f.runs[key]; run != nil {
		f.release(key, run, min(results, len(run.results)))
		f.tidy(key)
	}
}

// release forgets the first results, and frees their places and the memory that they hold.
func (f *inFlight) release(key types.NamespacedName, run *runInFlight, results int) {
	for _, l := range run.results[:results] {
		l.claim.release()
		f.places.Give(key.Namespace, 1)
	}
	run.results = run.results[results:]
}

// cancel ends measurements whose results nobody waits for. They land all the same, at once.
func (f *inFlight) cancel(key types.NamespacedName, metrics []string) {
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
func (f *inFlight) forget(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(key)
}

func (f *inFlight) drop(key types.NamespacedName) {
	if ticket := f.tickets[key]; ticket != nil {
		f.line.Remove(ticket)
		delete(f.tickets, key)
	}
	if run := f.runs[key]; run != nil {
		for _, cancel := range run.busy {
			cancel()
		}
		f.release(key, run, len(run.results))
		delete(f.runs, key)
	}
}

func (f *inFlight) tidy(key types.NamespacedName) {
	if run := f.runs[key]; run != nil && len(run.busy) == 0 && len(run.results) == 0 && !run.recording {
		delete(f.runs, key)
	}
}

// begin starts a measurement. If there is no free slot, the AnalysisRun is requeued when there is one.
func (f *inFlight) begin(key types.NamespacedName, task measure.Task) {
	f.mu.Lock()
	defer f.mu.Unlock()
	run := f.runs[key]
	if run != nil && run.uid != task.Run.UID {
		f.drop(key)
		run = nil
	}
	if run == nil {
		run = &runInFlight{uid: task.Run.UID, busy: map[string]context.CancelFunc{}}
	}
	if len(run.busy)+len(run.results) >= mostOfRun {
		run.waiting = true // until one of its own lands, or is written
		return
	}
	if !f.takePlace(key) {
		return
	}
	f.runs[key] = run
	ctx, cancel := context.WithTimeout(f.base, longestFlight)
	run.busy[task.Metric.Name] = cancel
	f.start(func() {
		held := f.bytes.claim(key.Namespace)
		result := f.fly(ctx, task, held)
		result.Canceled = errors.Is(ctx.Err(), context.Canceled)
		cancel()
		f.land(key, landing{result, held})
	})
}

// takePlace takes a place for an AnalysisRun, or lets it wait for one.
func (f *inFlight) takePlace(key types.NamespacedName) bool {
	if f.offered[key] {
		delete(f.offered, key)
		return true
	}
	if f.places.Take(key.Namespace, 1) {
		return true
	}
	if f.tickets[key] == nil {
		f.tickets[key] = f.line.Push(key.Namespace, inTime, key)
	}
	return false
}

// settle is called at the end of each pass: a place that was offered and not used goes to the next.
func (f *inFlight) settle(key types.NamespacedName) {
	f.mu.Lock()
	if f.offered[key] {
		delete(f.offered, key)
		f.places.Give(key.Namespace, 1)
	}
	f.mu.Unlock()
	f.offer()
}

// offer takes the places that are free for AnalysisRuns that wait for one, and has these looked at.
func (f *inFlight) offer() {
	for key := range f.nextInLine {
		f.look(key, priorityqueue.AddOpts{Priority: new(inTime)})
	}
}

func (f *inFlight) nextInLine(yield func(types.NamespacedName) bool) {
	for {
		f.mu.Lock()
		key, ok := f.line.Pop(func(namespace string) bool { return f.places.Fits(namespace, 1) })
		if ok {
			delete(f.tickets, key)
			f.places.Take(key.Namespace, 1)
			f.offered[key] = true
		}
		f.mu.Unlock()
		if !ok || !yield(key) {
			return
		}
	}
}

// isRecording reports whether results of an AnalysisRun are being written, or wait for a retry. If the caller has to wait
// for that, the AnalysisRun is requeued once the write completes. A write that was refused is retried immediately if someone
// has changed the run.
func (f *inFlight) isRecording(run *v1alpha1.AnalysisRun, waits bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.runs[client.ObjectKeyFromObject(run)]
	switch {
	case r == nil:
		return false
	case r.recording:
		r.waiting = r.waiting || waits
		return true
	}
	return r.refused == run.ResourceVersion && f.clock.Now().Before(r.retry)
}

// record writes the first results of an AnalysisRun into its status, beside the passes: where the API server is slow, measurements go on in
// time, and the next write has all that came back meanwhile.
func (f *inFlight) record(from *v1alpha1.AnalysisRun, results int, write func(context.Context) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := client.ObjectKeyFromObject(from)
	run := f.runs[key]
	if run == nil {
		return // it is gone
	}
	run.recording = true
	f.start(func() {
		err := errBroken
		defer func() { f.recorded(key, run, results, from.ResourceVersion, err) }()
		err = f.write(key, write)
	})
}

// errBroken is what becomes of a write that panics.
var errBroken = errors.New("the write panicked; see the log")

// write writes a status when it is its namespace's turn.
func (f *inFlight) write(key types.NamespacedName, write func(context.Context) error) error {
	if err := f.pens.Take(f.base, key.Namespace); err != nil {
		return err
	}
	defer f.pens.Give(key.Namespace)
	ctx, cancel := context.WithTimeout(f.base, longestPass)
	defer cancel()
	return write(ctx)
}

func (f *inFlight) recorded(key types.NamespacedName, run *runInFlight, results int, version string, err error) {
	f.mu.Lock()
	again := run.waiting || err != nil
	run.recording, run.waiting = false, false
	var after time.Duration
	switch {
	case err == nil:
		run.failures = 0
		f.release(key, run, min(results, len(run.results))) // none are left if the AnalysisRun is gone
		again = again || len(run.results) > 0
	case movedOn(err), errors.Is(err, errBehind):
		after = min(backoffShortest<<min(run.failures, 20), backoffLongest)
		run.failures++
	default:
		after = retryAfter(run.failures, err)
		run.failures++
		run.refused, run.retry = version, f.clock.Now().Add(after)
	}
	wanted := f.runs[key] == run
	if wanted {
		f.tidy(key)
	}
	f.mu.Unlock()
	if again && wanted {
		f.look(key, priorityqueue.AddOpts{Priority: new(later), After: after})
	}
	f.offer()
}

// retryAfter is how long a failed write waits for its retry, after the given number of earlier failures.
func retryAfter(failures int, err error) time.Duration {
	longest := retryLongest
	if refused(err) {
		longest = refusedLongest
	}
	return min(retryFirst<<min(failures, 20), longest)
}

// land takes a result in, and has its AnalysisRun looked at. Its place is free when the result is in the status.
func (f *inFlight) land(key types.NamespacedName, l landing) {
	f.mu.Lock()
	run := f.runs[key]
	wanted := run != nil && run.uid == l.Run.UID
	if wanted {
		delete(run.busy, l.Metric.Name)
		run.results = append(run.results, l)
	} else {
		l.claim.release()
		f.places.Give(key.Namespace, 1)
	}
	f.mu.Unlock()
	if wanted {
		f.look(key, priorityqueue.AddOpts{Priority: new(later)})
	}
	f.offer()
}

// fly measures. A provider that panics costs its measurement, and nothing else. The stack is for the log alone: it is of no use to those who
// read the status, and may hold what they must not see.
func (f *inFlight) fly(ctx context.Context, task measure.Task, held *claim) (result measure.Result) {
	result = measure.Result{Task: task, StartedAt: f.clock.Now()}
	defer func() {
		if broken := recover(); broken != nil {
			what := withoutValues(broken)
			f.log.Error("a provider panicked", "analysisrun", task.Run.Namespace+"/"+task.Run.Name, "metric", task.Metric.Name,
				"panic", what, "stack", string(debug.Stack()))
			result.Reading, result.Err = metric.Reading{}, fmt.Sprintf("the provider panicked: %s; see the controller's log", what)
		}
		if result.FinishedAt.IsZero() {
			result.FinishedAt = f.clock.Now()
		}
	}()
	keys := &metric.Keys{Read: f.secrets}
	task.Memory, task.Keys = held, keys
	reading, err := f.ask(ctx, task)
	result.Secrets = slices.Concat(task.Secrets, keys.Hidden)
	if err != nil {
		result.Err = err.Error()
		return result
	}
	result.Reading, result.FinishedAt = reading, f.clock.Now()
	return f.judge(ctx, result)
}

// longestJudging is how long it may take to judge what was measured. Conditions have a budget that is used up long before.
const longestJudging = 10 * time.Second

var errJudging = fmt.Errorf("it took longer than %s to judge what was measured: write a simpler condition", longestJudging)

// judge has the conditions of a metric judge what was measured.
func (f *inFlight) judge(ctx context.Context, result measure.Result) measure.Result {
	if err := f.judging.Take(ctx, result.Run.Namespace); err != nil {
		result.Err = err.Error()
		return result
	}
	defer f.judging.Give(result.Run.Namespace)
	ctx, cancel := context.WithTimeoutCause(ctx, longestJudging, errJudging)
	defer cancel()
	result = measure.Judge(ctx, result)
	result.Reading.Value = nil // it may be large, and the result waits for a pass
	return result
}

func (f *inFlight) ask(ctx context.Context, task measure.Task) (metric.Reading, error) {
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
		return metric.Reading{}, fmt.Errorf("provider %q cannot continue a measurement that another version started", name)
	}
	return asynchronous.Resume(ctx, task.Request)
}
