package telemetry

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/internal/fair"
)

// Stuck is how long nothing may get done while there is something to do.
const Stuck = 5 * time.Minute

// Queue watches over a controller's queue: when the news came that a pass answers, and whether anything gets done at all.
type Queue struct {
	clock   clock.WithDelayedExecution
	name    string
	workers int

	mu sync.Mutex
	// waiting is since when there is news of an object, working is of what news the passes are that are under way.
	waiting, working map[reconcile.Request]time.Time
	// moved is when something was last done, or first waited.
	moved time.Time
}

// NewQueue watches over the queue of the controller of that name, which workers share by namespace; 0 for any number of workers, which
// a single namespace may occupy.
func NewQueue(clk clock.WithDelayedExecution, name string, workers int) *Queue {
	return &Queue{clock: clk, name: name, workers: workers, waiting: map[reconcile.Request]time.Time{}, working: map[reconcile.Request]time.Time{}}
}

// Make makes the queue, for a controller's options.
func (q *Queue) Make(name string, limit workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return &watched{
		PriorityQueue: fair.NewQueue(fair.Options{
			Clock: q.clock, Workers: q.workers, Limiter: limit, Watcher: newQueueMeters(q.clock, name),
		}),
		queue: q,
	}
}

// Check is a liveness probe: it fails when nothing has been done for long although there is something to do.
func (q *Queue) Check(*http.Request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	still := q.clock.Now().Sub(q.moved)
	if len(q.waiting)+len(q.working) > 0 && still > Stuck {
		return fmt.Errorf("the %s controller is stuck: for %s no pass has ended, with %d under way and %d waiting",
			q.name, still.Truncate(time.Second), len(q.working), len(q.waiting))
	}
	return nil
}

func (q *Queue) add(requests ...reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	if len(q.waiting)+len(q.working) == 0 {
		q.moved = now
	}
	for _, request := range requests {
		if _, waits := q.waiting[request]; !waits {
			q.waiting[request] = now
		}
	}
}

func (q *Queue) begin(request reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting)+len(q.working) == 0 {
		q.moved = q.clock.Now()
	}
	q.working[request] = q.waiting[request] // zero: nothing was told, its time came
	delete(q.waiting, request)
}

func (q *Queue) end(request reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.working, request)
	q.moved = q.clock.Now()
}

// came is when the news came that the pass answers which is under way, zero if there was none.
func (q *Queue) came(request reconcile.Request) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.working[request]
}

// watched is a queue that tells what becomes of it.
type watched struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	queue *Queue
}

// Add takes news of an object.
func (w *watched) Add(request reconcile.Request) {
	w.queue.add(request)
	w.PriorityQueue.Add(request)
}

// AddWithOpts takes news of objects, or when to look at them again.
func (w *watched) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	if o.After == 0 && !o.RateLimited {
		w.queue.add(requests...)
	}
	w.PriorityQueue.AddWithOpts(o, requests...)
}

// GetWithPriority begins a pass.
func (w *watched) GetWithPriority() (request reconcile.Request, priority int, shutdown bool) {
	request, priority, shutdown = w.PriorityQueue.GetWithPriority()
	if !shutdown {
		w.queue.begin(request)
	}
	return request, priority, shutdown
}

// Get begins a pass.
func (w *watched) Get() (request reconcile.Request, shutdown bool) {
	request, _, shutdown = w.GetWithPriority()
	return request, shutdown
}

// Done ends a pass.
func (w *watched) Done(request reconcile.Request) {
	w.queue.end(request)
	w.PriorityQueue.Done(request)
}
