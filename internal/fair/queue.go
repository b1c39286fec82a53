package fair

import (
	"container/heap"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// workersPerFree is the factor by which workers are shared: of ten, one tenant gets six.
const workersPerFree = 2

// Options are how a queue works.
type Options struct {
	Clock clock.WithDelayedExecution
	// Workers is how many take from the queue; 0 for any number, which a single tenant may occupy.
	Workers int
	Limiter workqueue.TypedRateLimiter[reconcile.Request]
	// Watcher learns what becomes of requests; may be nil.
	Watcher Watcher
}

// Watcher learns what becomes of the requests in a queue. It is called with the queue locked.
type Watcher interface {
	// Ready is called when a request begins to wait for a worker, and Raised when its priority rises meanwhile.
	Ready(request reconcile.Request, priority int)
	Raised(from, to int)
	// Begun is called when a worker takes a request, and Done when it has dealt with it.
	Begun(request reconcile.Request, priority int)
	Done(request reconcile.Request)
	// Delayed is called for each request that is added for later.
	Delayed()
}

// Queue is a controller's work queue that serves namespaces in turn and leaves workers for others where one namespace keeps many busy.
// As in controller-runtime's own queue, a request is in it once, with the highest priority and the earliest time that were asked for,
// and is not handed out while it is worked on.
type Queue struct {
	o Options

	mu       sync.Mutex
	changed  *sync.Cond
	shutdown bool
	// entries are the requests that wait for their time, for the end of a pass, or for a worker.
	entries map[reconcile.Request]*entry
	working map[reconcile.Request]bool
	ready   Turns[*entry]
	workers *Shares
	later   delays
	timer   clock.Timer
	// armed is when the timer fires, zero if it does not.
	armed time.Time
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = (*Queue)(nil)

// entry is a request that waits.
type entry struct {
	request  reconcile.Request
	priority int
	// at is when it may be handed out, while it waits for that; zero afterwards.
	at    time.Time
	index int // among those that wait for their time
	// ticket is its place among those that wait for a worker, nil unless it does.
	ticket *Ticket[*entry]
}

// NewQueue returns a queue without requests.
func NewQueue(o Options) *Queue {
	if o.Watcher == nil {
		o.Watcher = unwatched{}
	}
	factor := int64(workersPerFree)
	if o.Workers == 0 {
		factor = 0
	}
	q := &Queue{o: o, entries: map[reconcile.Request]*entry{}, working: map[reconcile.Request]bool{}, workers: NewShares(int64(o.Workers), factor)}
	if o.Workers == 0 {
		q.workers = NewShares(1<<62, 0)
	}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// Add adds a request.
func (q *Queue) Add(r reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, r) }

// AddAfter adds a request for later.
func (q *Queue) AddAfter(r reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, r)
}

// AddRateLimited adds a request for when the rate limiter says that it may be tried again.
func (q *Queue) AddRateLimited(r reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, r)
}

// AddWithOpts adds requests.
func (q *Queue) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shutdown {
		return
	}
	priority := 0
	if o.Priority != nil {
		priority = *o.Priority
	}
	for _, r := range requests {
		after := o.After
		if o.RateLimited {
			if limit := q.o.Limiter.When(r); after == 0 || limit < after {
				after = limit
			}
		}
		if after > 0 {
			q.o.Watcher.Delayed()
		}
		q.add(r, priority, after)
	}
	q.arm()
}

func (q *Queue) add(r reconcile.Request, priority int, after time.Duration) {
	e, waits := q.entries[r]
	if !waits {
		e = &entry{request: r, priority: priority, index: -1}
		q.entries[r] = e
		if after > 0 {
			e.at = q.o.Clock.Now().Add(after)
			heap.Push(&q.later, e)
			return
		}
		q.release(e)
		return
	}
	if priority > e.priority {
		q.raise(e, priority)
	}
	if e.at.IsZero() {
		return
	}
	at := q.o.Clock.Now().Add(after)
	switch {
	case after <= 0:
		heap.Remove(&q.later, e.index)
		q.release(e)
	case at.Before(e.at):
		e.at = at
		heap.Fix(&q.later, e.index)
	}
}

// raise gives a request another priority, with which it is the last of its tenant.
func (q *Queue) raise(e *entry, priority int) {
	if e.at.IsZero() {
		q.o.Watcher.Raised(e.priority, priority)
	}
	e.priority = priority
	if e.ticket != nil {
		q.ready.Remove(e.ticket)
		e.ticket = q.ready.Push(e.request.Namespace, e.priority, e)
	}
}

// release has a request wait for a worker, or for the end of the pass that is under way.
func (q *Queue) release(e *entry) {
	e.at = time.Time{}
	q.o.Watcher.Ready(e.request, e.priority)
	if !q.working[e.request] {
		q.line(e)
	}
}

func (q *Queue) line(e *entry) {
	e.ticket = q.ready.Push(e.request.Namespace, e.priority, e)
	q.changed.Signal()
}

// arm sets the timer to the earliest request that waits for its time.
func (q *Queue) arm() {
	if len(q.later) == 0 || q.shutdown {
		return
	}
	at := q.later[0].at
	if !q.armed.IsZero() && !at.Before(q.armed) {
		return // it is armed again when it fires
	}
	q.armed = at
	if q.timer != nil {
		q.timer.Stop()
	}
	// A virtual clock is locked while it calls.
	q.timer = q.o.Clock.AfterFunc(at.Sub(q.o.Clock.Now()), func() { go q.wake() })
}

func (q *Queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.armed = time.Time{}
	q.due()
	q.arm()
}

// due releases the requests whose time has come.
func (q *Queue) due() {
	if len(q.later) == 0 {
		return
	}
	now := q.o.Clock.Now()
	for len(q.later) > 0 && !q.later[0].at.After(now) {
		q.release(heap.Pop(&q.later).(*entry))
	}
}

// GetWithPriority waits for a request and hands it out.
func (q *Queue) GetWithPriority() (r reconcile.Request, priority int, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if q.shutdown {
			return reconcile.Request{}, 0, true
		}
		q.due()
		if e, ok := q.ready.Pop(q.mayWork); ok {
			e.ticket = nil
			delete(q.entries, e.request)
			q.working[e.request] = true
			q.workers.Take(e.request.Namespace, 1)
			q.o.Watcher.Begun(e.request, e.priority)
			return e.request, e.priority, false
		}
		q.changed.Wait()
	}
}

func (q *Queue) mayWork(tenant string) bool { return q.workers.Fits(tenant, 1) }

// Get waits for a request and hands it out.
func (q *Queue) Get() (r reconcile.Request, shutdown bool) {
	r, _, shutdown = q.GetWithPriority()
	return r, shutdown
}

// Done says that a request has been dealt with.
func (q *Queue) Done(r reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.working[r] {
		return
	}
	delete(q.working, r)
	q.workers.Give(r.Namespace, 1)
	q.o.Watcher.Done(r)
	if e := q.entries[r]; e != nil && e.at.IsZero() {
		q.line(e)
	}
	q.changed.Broadcast() // the share of several tenants has grown
}

// Forget resets the rate limiter for a request.
func (q *Queue) Forget(r reconcile.Request) { q.o.Limiter.Forget(r) }

// NumRequeues is how often the rate limiter has delayed a request.
func (q *Queue) NumRequeues(r reconcile.Request) int { return q.o.Limiter.NumRequeues(r) }

// Len is how many requests wait for a worker.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due()
	return q.ready.Len()
}

// ShutDown ends handing out requests.
func (q *Queue) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shutdown = true
	if q.timer != nil {
		q.timer.Stop()
	}
	q.changed.Broadcast()
}

// ShutDownWithDrain is ShutDown: nobody asks for the rest.
func (q *Queue) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown reports whether the queue has been shut down.
func (q *Queue) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.shutdown
}

// delays is a heap of the requests that wait for their time.
type delays []*entry

func (d delays) Len() int           { return len(d) }
func (d delays) Less(i, j int) bool { return d[i].at.Before(d[j].at) }
func (d delays) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = i, j
}

// Push is for package heap.
func (d *delays) Push(e any) {
	e.(*entry).index = len(*d)
	*d = append(*d, e.(*entry))
}

// Pop is for package heap.
func (d *delays) Pop() any {
	last := len(*d) - 1
	e := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	e.index = -1
	return e
}

type unwatched struct{}

// Ready does nothing.
func (unwatched) Ready(reconcile.Request, int) {}

// Raised does nothing.
func (unwatched) Raised(int, int) {}

// Begun does nothing.
func (unwatched) Begun(reconcile.Request, int) {}

// Done does nothing.
func (unwatched) Done(reconcile.Request) {}

// Delayed does nothing.
func (unwatched) Delayed() {}
