package deliver

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/internal/fair"
)

const (
	// atOnce is how many messages are sent at a time, and share a namespace's part of them.
	atOnce, share = 64, 8
	// waiting is how many messages a namespace may have waiting, and perDestination how many of them for one destination: one that is down
	// leaves room for the others.
	waiting, perDestination = 2000, 500
	// attempt is how long one attempt may take.
	attempt = 30 * time.Second
	// firstWait and longestWait are the waits after attempts that failed: each is twice the one before.
	firstWait, longestWait = time.Second, 5 * time.Minute
)

// Destination is where messages go. Namespace is that of the configuration which knows the service.
type Destination struct{ Namespace, Service, Recipient string }

// Message is one message to one destination.
type Message struct {
	// ID is what the message is about: one that waits already is not added again.
	ID string
	To Destination
	// Tenant is the namespace of the object that the message is about.
	Tenant   string
	Deadline time.Time
	// Send makes one attempt.
	Send func(context.Context) error
	// Done is called once, with nil or why the message was dropped. The destination's next message waits for it.
	Done func(context.Context, error)
}

// Refused is an error of a message that will be refused again.
type Refused struct{ Err error }

func (r *Refused) Error() string { return r.Err.Error() }
func (r *Refused) Unwrap() error { return r.Err }

// Later is an error after which the destination asks to wait.
type Later struct {
	Err  error
	Wait time.Duration
}

func (l *Later) Error() string { return l.Err.Error() }
func (l *Later) Unwrap() error { return l.Err }

// Queues are the destinations' queues.
type Queues struct {
	ctx   context.Context
	clock clock.WithDelayedExecution

	mu    sync.Mutex
	lines map[Destination]*line
	// ready are the lines that may send now.
	ready   fair.Turns[*line]
	running map[string]int
	busy    int
	ids     map[string]bool
	tenants map[string]int
	parts   map[part]int
}

// part is what a namespace has waiting for a destination.
type part struct {
	tenant string
	to     Destination
}

// line is what waits for one destination.
type line struct {
	to       Destination
	messages fair.Turns[*pending]
	// head is what is being sent, or sent again.
	head *pending
	wait time.Duration
	// active is set while the line is ready, sends or waits.
	active bool
}

type pending struct {
	Message
	err error
}

// New returns empty queues that send until ctx ends.
func New(ctx context.Context, c clock.WithDelayedExecution) *Queues {
	return &Queues{
		ctx: ctx, clock: c, lines: map[Destination]*line{}, running: map[string]int{}, ids: map[string]bool{}, tenants: map[string]int{}, parts: map[part]int{},
	}
}

// Add queues a message. It reports false if the namespace has too many waiting: the caller must try again later.
func (q *Queues) Add(m Message) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ids[m.ID] {
		return true
	}
	if !q.room(m.Tenant, m.To) {
		return false
	}
	q.ids[m.ID] = true
	q.tenants[m.Tenant]++
	q.parts[part{m.Tenant, m.To}]++
	l := q.lines[m.To]
	if l == nil {
		l = &line{to: m.To}
		q.lines[m.To] = l
	}
	l.messages.Push(m.Tenant, 0, &pending{Message: m})
	q.activate(l)
	q.start()
	return true
}

// Room reports whether a namespace may have one more message waiting for a destination.
func (q *Queues) Room(tenant string, to Destination) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.room(tenant, to)
}

func (q *Queues) room(tenant string, to Destination) bool {
	return q.tenants[tenant] < waiting && q.parts[part{tenant, to}] < perDestination
}

// Len is how many messages wait or are being sent.
func (q *Queues) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ids)
}

// activate has a line's next message wait for its turn.
func (q *Queues) activate(l *line) {
	if l.active {
		return
	}
	if l.head == nil {
		next, ok := l.messages.Pop(func(string) bool { return true })
		if !ok {
			delete(q.lines, l.to)
			return
		}
		l.head = next
	}
	l.active = true
	q.ready.Push(l.head.Tenant, 0, l)
}

// start begins to send what may be sent.
func (q *Queues) start() {
	for q.busy < atOnce && q.ctx.Err() == nil {
		l, ok := q.ready.Pop(func(tenant string) bool { return q.running[tenant] < share })
		if !ok {
			return
		}
		q.busy++
		q.running[l.head.Tenant]++
		go q.send(l, l.head)
	}
}

func (q *Queues) send(l *line, m *pending) {
	var err error
	if q.clock.Now().After(m.Deadline) {
		err = &Refused{cmp.Or(m.err, errors.New("there was no turn for it before its deadline"))}
	} else {
		ctx, cancel := context.WithTimeout(q.ctx, attempt)
		err = m.Send(ctx)
		cancel()
	}
	wait, again := q.again(l, m, err)
	if !again && q.ctx.Err() == nil {
		m.Done(q.ctx, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy--
	if q.running[m.Tenant]--; q.running[m.Tenant] == 0 {
		delete(q.running, m.Tenant)
	}
	l.active = false
	if again {
		l.active, l.wait, m.err = true, wait, err
		q.clock.AfterFunc(wait, func() { q.wake(l) })
	} else {
		q.forget(m)
		l.head, l.wait = nil, 0
		q.activate(l)
	}
	q.start()
}

// again is when to try again, if at all.
func (q *Queues) again(l *line, m *pending, err error) (time.Duration, bool) {
	if err == nil || errors.As(err, new(*Refused)) {
		return 0, false
	}
	wait := min(max(2*l.wait, firstWait), longestWait)
	if later := (*Later)(nil); errors.As(err, &later) {
		wait = max(wait, later.Wait)
	}
	return wait, q.clock.Now().Add(wait).Before(m.Deadline)
}

// wake ends a line's wait.
func (q *Queues) wake(l *line) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.active = false
	q.activate(l)
	q.start()
}

func (q *Queues) forget(m *pending) {
	delete(q.ids, m.ID)
	if of := (part{m.Tenant, m.To}); q.parts[of] > 1 {
		q.parts[of]--
	} else {
		delete(q.parts, of)
	}
	if q.tenants[m.Tenant]--; q.tenants[m.Tenant] == 0 {
		delete(q.tenants, m.Tenant)
	}
}
