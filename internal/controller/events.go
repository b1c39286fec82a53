package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

const (
	// gathering is how long ordinary events on an object wait for others, each anew, and atMost how long they wait in all.
	gathering = 5 * time.Second
	atMost    = 15 * time.Second
	// publishers is how many events are on their way at once.
	publishers = 8
	// publishing is how long one may take.
	publishing = 10 * time.Second
	// farewell is how long a controller that stops goes on publishing.
	farewell = time.Second
	// longest is how long an event's text may be.
	longest = 1024
)

// events publishes Kubernetes events. Ordinary ones on one object are gathered until it comes to rest for a moment: those with the same
// reason become one, whose text is theirs in turn. A canary that scales two ReplicaSets, or passes nine steps, costs one request for it
// and not nine. A warning is published at once, behind what was told before it.
//
// There is no limit for each object as in client-go's recorder, which would swallow the end of a long rollout, and no queue that
// drops what does not fit: controllers tell of each transition once.
type events struct {
	clock  clock.WithDelayedExecution
	client client.Client
	log    *slog.Logger
	meters *telemetry.Meters
	// hands are taken by those who publish.
	hands chan struct{}

	mu sync.Mutex
	// waiting are the events on each object that are not published yet.
	waiting map[types.UID]*gathered
	// underway are those that are being sent, start begins to send some.
	underway sync.WaitGroup
	start    func(func())
}

// gathered are events on one object, in the order in which they were told. The timer is to publish them.
type gathered struct {
	events []*corev1.Event
	first  time.Time
	timer  clock.Timer
}

func newEvents(clk clock.WithDelayedExecution, c client.Client, log *slog.Logger, meters *telemetry.Meters) *events {
	e := &events{
		clock: clk, client: c, log: log, meters: meters,
		hands: make(chan struct{}, publishers), waiting: map[types.UID]*gathered{},
	}
	e.start = e.underway.Go
	return e
}

// NewEvents returns the recorder that gathers events, for those who have parts of their own.
func NewEvents(clk clock.WithDelayedExecution, p Parts) record.EventRecorder {
	e := newEvents(clk, p.Client, p.Log, p.Meters)
	if p.Go != nil {
		e.start = p.Go
	}
	return e
}

// Event tells of something that happened to an object.
func (e *events) Event(object runtime.Object, kind, reason, message string) {
	e.AnnotatedEventf(object, nil, kind, reason, "%s", message)
}

// Eventf tells of something that happened to an object.
func (e *events) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	e.AnnotatedEventf(object, nil, kind, reason, format, args...)
}

// AnnotatedEventf tells of something that happened to an object. Annotations of gathered events are joined.
func (e *events) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	event, err := e.event(object, annotations, kind, reason, fmt.Sprintf(format, args...))
	if err != nil {
		e.log.Error("an event cannot be published", "reason", reason, "error", err)
		return
	}
	e.meters.Told(event)
	uid := event.InvolvedObject.UID
	now := e.clock.Now()
	e.mu.Lock()
	g, waits := e.waiting[uid]
	if !waits {
		g = &gathered{first: now, timer: e.clock.AfterFunc(gathering, func() { e.release(uid) })}
		e.waiting[uid] = g
	}
	g.events = gather(g.events, event)
	g.timer.Reset(min(gathering, g.first.Add(atMost).Sub(now)))
	e.mu.Unlock()
	if kind != corev1.EventTypeNormal {
		g.timer.Stop()
		e.release(uid)
	}
}

func (e *events) event(object runtime.Object, annotations map[string]string, kind, reason, message string) (*corev1.Event, error) {
	on, err := reference.GetReference(e.client.Scheme(), object)
	if err != nil {
		return nil, err
	}
	now := metav1.NewTime(e.clock.Now())
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: on.Namespace, Name: fmt.Sprintf("%s.%x", on.Name, now.UnixNano()), Annotations: annotations,
		},
		InvolvedObject: *on, Type: kind, Reason: reason, Message: message,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source:              corev1.EventSource{Component: v1alpha1.EventSource},
		ReportingController: v1alpha1.EventSource,
	}, nil
}

// gather adds an event to those that wait, where it becomes part of an earlier one with the same reason.
func gather(waiting []*corev1.Event, event *corev1.Event) []*corev1.Event {
	for _, earlier := range waiting {
		if earlier.Reason != event.Reason || earlier.Type != event.Type {
			continue
		}
		text := earlier.Message + "; " + event.Message
		if slices.Contains(strings.Split(earlier.Message, "; "), event.Message) {
			text = earlier.Message
		}
		if len(text) > longest {
			continue
		}
		earlier.Message, earlier.LastTimestamp = text, event.LastTimestamp
		earlier.Count++
		for key, value := range event.Annotations {
			setAnnotation(earlier, key, value)
		}
		return waiting
	}
	return append(waiting, event)
}

func setAnnotation(event *corev1.Event, key, value string) {
	if event.Annotations == nil {
		event.Annotations = map[string]string{}
	}
	event.Annotations[key] = value
}

// release publishes what waits on an object, in order, without making anyone wait for it.
func (e *events) release(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ready, waits := e.waiting[uid]
	if !waits {
		return
	}
	delete(e.waiting, uid)
	e.start(func() {
		e.hands <- struct{}{}
		defer func() { <-e.hands }()
		for i, event := range ready.events {
			event.Name = fmt.Sprintf("%s%x", event.Name, i) // two of one moment, and one clock for all
			e.publish(event)
		}
	})
}

// publish sends an event. One that cannot be sent is told of in the log alone: it is not worth holding up what comes next.
func (e *events) publish(event *corev1.Event) {
	ctx, cancel := context.WithTimeout(context.Background(), publishing)
	defer cancel()
	if len(event.Message) > longest {
		event.Message = strings.ToValidUTF8(event.Message[:longest-len("…")], "") + "…"
	}
	if err := e.client.Create(ctx, event); err != nil {
		e.log.Warn("an event was not published", "object", event.InvolvedObject.Namespace+"/"+event.InvolvedObject.Name,
			"reason", event.Reason, "message", event.Message, "error", err)
	}
}

// Start waits until ctx ends and publishes what has not been published then.
func (e *events) Start(ctx context.Context) error {
	<-ctx.Done()
	e.mu.Lock()
	var objects []types.UID
	for uid := range e.waiting {
		objects = append(objects, uid)
	}
	e.mu.Unlock()
	for _, uid := range objects {
		e.release(uid)
	}
	done := make(chan struct{})
	go func() {
		e.underway.Wait()
		close(done)
	}()
	late := make(chan struct{})
	timer := e.clock.AfterFunc(farewell, func() { close(late) })
	defer timer.Stop()
	select {
	case <-done:
	case <-late:
	}
	return nil
}

// NeedLeaderElection is false: what a leader has told is published however it ends.
func (e *events) NeedLeaderElection() bool { return false }
