package controller

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	recordutil "k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

const (
	// publishers is how many events are sent at once, and spacePublishers how many of them may be for one namespace: if a
	// namespace's events take long, publishers are left for the others.
	publishers, spacePublishers = 8, 6
	// publishing is how long one attempt to send an event may take.
	publishing = 10 * time.Second
	// attempts is how often an event is sent that the API server does not answer, and resend the wait after the first attempt, which
	// doubles each time.
	attempts = 4
	resend   = time.Second
	// farewell is how long a controller that stops goes on publishing.
	farewell = time.Second
	// longest is how long an event's text may be.
	longest = 1024
)

// events publishes Kubernetes events: each at once and for itself, those on one object in the order in which they were recorded.
// Nobody waits for it. An event that is identical to an earlier one adds to the count of that one, as with client-go's recorder
// (eventseries.go). Unlike client-go's, it does not limit how many events an object may have, which would swallow the end of a long
// rollout; what a namespace may have waiting is limited (eventqueue.go).
//
// An event that the API server does not answer is sent again under the same name, while later events on the same object wait and other
// objects' do not. One that is refused, or was sent in vain often enough, is logged and counted as lost, and the next one follows.
type events struct {
	clock  clock.WithDelayedExecution
	client client.Client
	log    *slog.Logger
	meters *telemetry.Meters
	series *eventSeries
	// start begins to publish, concurrently with the recording of events.
	start func(func())

	mu    sync.Mutex
	queue eventQueue
	// busy is how many publish; drained, if it is there, is closed when none does.
	busy    int
	drained chan struct{}
	// last is when the last event was recorded: no two are of one nanosecond, since they would have one name.
	last time.Time
}

func newEvents(clk clock.WithDelayedExecution, c client.Client, log *slog.Logger, meters *telemetry.Meters) *events {
	return &events{
		clock: clk, client: c, log: log, meters: meters, series: newEventSeries(c), queue: newEventQueue(),
		start: func(publish func()) { go publish() },
	}
}

// NewEvents returns the recorder of events, for those who have parts of their own.
func NewEvents(clk clock.WithDelayedExecution, p Deps) record.EventRecorder {
	e := newEvents(clk, p.Client, p.Log, p.Meters)
	if p.Go != nil {
		e.start = p.Go
	}
	return e
}

// tellEvents publishes what is reported about an object, in its order.
func tellEvents(to record.EventRecorder, on runtime.Object, all []change.Event) {
	for _, e := range all {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		to.Event(on, kind, e.Reason, e.Message)
	}
}

// Event records that something happened to an object.
func (e *events) Event(object runtime.Object, kind, reason, message string) {
	e.AnnotatedEventf(object, nil, kind, reason, "%s", message)
}

// Eventf records that something happened to an object.
func (e *events) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	e.AnnotatedEventf(object, nil, kind, reason, format, args...)
}

// AnnotatedEventf records that something happened to an object.
func (e *events) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	on, err := reference.GetReference(e.client.Scheme(), object)
	if err != nil {
		e.log.Error("an event cannot be published", "reason", reason, "error", err)
		return
	}
	e.mu.Lock()
	event := e.event(on, annotations, kind, reason, fmt.Sprintf(format, args...))
	e.meters.Told(event)
	dropped := e.queue.add(event)
	e.hire()
	e.mu.Unlock()
	if dropped != nil {
		e.lost(dropped, "too many of this namespace wait to be published", nil)
	}
}

func (e *events) event(on *corev1.ObjectReference, annotations map[string]string, kind, reason, message string) *corev1.Event {
	at := e.clock.Now()
	if !at.After(e.last) {
		at = e.last.Add(time.Nanosecond)
	}
	e.last = at
	message = clean.Text(message)
	if len(message) > longest {
		message = strings.ToValidUTF8(message[:longest-len("…")], "") + "…"
	}
	now := metav1.NewTime(at)
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: on.Namespace, Name: recordutil.GenerateEventName(on.Name, at.UnixNano()), Annotations: annotations,
		},
		InvolvedObject: *on, Type: kind, Reason: reason, Message: message,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source:              corev1.EventSource{Component: v1alpha1.EventSource},
		ReportingController: v1alpha1.EventSource,
	}
}

// hire starts a publisher for the waiting events, unless enough are running already.
func (e *events) hire() {
	if e.busy < publishers && e.queue.ready() {
		e.busy++
		e.start(e.work)
	}
}

// work publishes event after event until there is none to publish now.
func (e *events) work() {
	for {
		e.mu.Lock()
		next := e.queue.take()
		if next == nil {
			e.busy--
			if e.busy == 0 && e.drained != nil {
				close(e.drained)
				e.drained = nil
			}
			e.mu.Unlock()
			return
		}
		e.mu.Unlock()
		e.publish(next)
	}
}

// publish sends an event, and has it sent again later if nobody knows what became of it.
func (e *events) publish(next *eventTurn) {
	ctx, cancel := context.WithTimeout(context.Background(), publishing)
	defer cancel()
	err := e.series.send(ctx, next.event)
	next.attempts++
	again := err != nil && mayPass(err) && next.attempts < attempts
	if err != nil && !again {
		e.lost(next.event, "it could not be sent", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue.sent(next, again)
	if !again {
		e.queue.free(next)
		return
	}
	e.clock.AfterFunc(resend<<(next.attempts-1), func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.queue.free(next)
		e.hire()
	})
}

// mayPass reports whether what went wrong may be over when an event is sent again.
func mayPass(err error) bool { return mayBeDone(err) || apierrors.IsTooManyRequests(err) }

// lost logs and counts an event that nobody will see. It is not worth holding up what comes next.
func (e *events) lost(event *corev1.Event, why string, err error) {
	e.meters.LostEvent(event)
	e.log.Warn("an event was not published: "+why, "object", event.InvolvedObject.Namespace+"/"+event.InvolvedObject.Name,
		"reason", event.Reason, "message", event.Message, "error", err)
}

// Start waits until ctx ends, and then for what is being published.
func (e *events) Start(ctx context.Context) error {
	<-ctx.Done()
	e.mu.Lock()
	if e.busy == 0 {
		e.mu.Unlock()
		return nil
	}
	drained, late := make(chan struct{}), make(chan struct{})
	e.drained = drained
	e.mu.Unlock()
	timer := e.clock.AfterFunc(farewell, func() { close(late) })
	defer timer.Stop()
	select {
	case <-drained:
	case <-late:
	}
	return nil
}

// NeedLeaderElection is false: what a leader has recorded is published however it ends.
func (e *events) NeedLeaderElection() bool { return false }
