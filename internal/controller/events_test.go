package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

// eventSink is an API server that has events alone.
type eventSink struct {
	client.Client
	// answer, if it is there, says what becomes of an event: an error, and whether it arrives all the same. It may take its time.
	answer func(ctx context.Context, e *corev1.Event) (arrives bool, err error)

	mu     sync.Mutex
	events []*corev1.Event
}

func (s *eventSink) Scheme() *runtime.Scheme { return Scheme() }

func (s *eventSink) asks(ctx context.Context, e *corev1.Event, do func() error) error {
	if s.answer != nil {
		if arrives, err := s.answer(ctx, e); err != nil {
			if arrives {
				_ = s.locked(do) // nobody sees the answer
			}
			return err
		}
	}
	return s.locked(do)
}

func (s *eventSink) locked(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return do()
}

func (s *eventSink) Create(ctx context.Context, obj client.Object, _ ...client.CreateOption) error {
	event := obj.(*corev1.Event)
	return s.asks(ctx, event, func() error {
		for _, have := range s.events {
			if have.Name == event.Name {
				return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "events"}, event.Name)
			}
		}
		s.events = append(s.events, event)
		return nil
	})
}

func (s *eventSink) Patch(ctx context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return s.asks(ctx, obj.(*corev1.Event), func() error {
		data, err := patch.Data(obj)
		if err != nil {
			return err
		}
		for _, have := range s.events {
			if have.Name == obj.GetName() {
				return json.Unmarshal(data, have)
			}
		}
		return apierrors.NewNotFound(schema.GroupResource{Resource: "events"}, obj.GetName())
	})
}

// told are the events on objects of a name as people see them: reason, text, and how many if there are more than one.
func (s *eventSink) told(on string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var told []string
	for _, e := range s.events {
		if e.InvolvedObject.Name != on {
			continue
		}
		text := e.Type + " " + e.Reason + ": " + e.Message
		if e.Count > 1 {
			text += fmt.Sprintf(" x%d", e.Count)
		}
		told = append(told, text)
	}
	return told
}

func rolloutNamed(name string) *v1alpha1.Rollout { return rolloutIn("ns", name) }

func rolloutIn(namespace, name string) *v1alpha1.Rollout {
	return &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name)}}
}

func recorderFor(sink *eventSink) (*events, *prometheus.Registry) {
	registry := prometheus.NewRegistry()
	return newEvents(clock.RealClock{}, sink, slog.New(slog.DiscardHandler), telemetry.New(registry, false)), registry
}

// lostEvents is what the counter of lost events says.
func lostEvents(t *testing.T, registry *prometheus.Registry, want string) {
	t.Helper()
	const name = "sluice_events_lost_total"
	if want != "" {
		want = "# HELP " + name + " Events that were not published, since too many of the namespace waited or the API server did not take them.\n" +
			"# TYPE " + name + " counter\n" + want + "\n"
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), name); err != nil {
		t.Error(err)
	}
}

func TestTransitionsArePublishedAtOnceOneByOneInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &eventSink{}
		e, _ := recorderFor(sink)
		web := rolloutNamed("web")
		began := time.Now()
		e.Event(web, corev1.EventTypeNormal, "RolloutUpdated", "Rollout updated to revision 2")
		e.Event(web, corev1.EventTypeNormal, "ScalingReplicaSet", "up")
		e.Event(web, corev1.EventTypeNormal, "RolloutStepCompleted", "Rollout step 1/2 completed (setWeight: 20)")
		e.Event(web, corev1.EventTypeNormal, "RolloutStepCompleted", "Rollout step 2/2 completed (setWeight: 40)")
		e.Event(web, corev1.EventTypeNormal, "ScalingReplicaSet", "down")
		e.Event(web, corev1.EventTypeWarning, "RolloutAborted", "Rollout aborted update to revision 2")
		synctest.Wait()
		want := []string{
			"Normal RolloutUpdated: Rollout updated to revision 2",
			"Normal ScalingReplicaSet: up",
			"Normal RolloutStepCompleted: Rollout step 1/2 completed (setWeight: 20)",
			"Normal RolloutStepCompleted: Rollout step 2/2 completed (setWeight: 40)",
			"Normal ScalingReplicaSet: down",
			"Warning RolloutAborted: Rollout aborted update to revision 2",
		}
		if diff := cmp.Diff(want, sink.told("web")); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("they were published %s later", took)
		}
	})
}

// Text from tenants is escaped in an event, and truncated after that.
func TestEventsSteerNoTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &eventSink{}
		e, _ := recorderFor(sink)
		e.Event(rolloutNamed("web"), corev1.EventTypeWarning, "InvalidSpec", "image \x1b[2J\u202egnp.exe")
		e.Event(rolloutNamed("long"), corev1.EventTypeWarning, "InvalidSpec", strings.Repeat("\x1b", longest))
		synctest.Wait()
		if diff := cmp.Diff([]string{`Warning InvalidSpec: image \u001b[2J\u202egnp.exe`}, sink.told("web")); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if got := sink.told("long"); len(got) != 1 || strings.ContainsFunc(got[0], clean.IsHidden) || len(got[0]) > longest+len("Warning InvalidSpec: ") {
			t.Errorf("a long one: %q", got)
		}
	})
}

// As with client-go's recorder, an identical event adds to the count of the earlier one.
func TestAnEventThatIsRepeatedCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &eventSink{}
		e, _ := recorderFor(sink)
		for range 3 {
			e.Event(rolloutNamed("web"), corev1.EventTypeWarning, "InvalidSpec", "no such field")
			synctest.Wait()
			time.Sleep(time.Minute)
		}
		e.Event(rolloutNamed("other"), corev1.EventTypeWarning, "InvalidSpec", "no such field")
		synctest.Wait()
		if diff := cmp.Diff([]string{"Warning InvalidSpec: no such field x3"}, sink.told("web")); diff != "" {
			t.Fatalf("events (-want +got):\n%s", diff)
		}
		if first, last := sink.events[0].FirstTimestamp, sink.events[0].LastTimestamp; last.Sub(first.Time) != 2*time.Minute {
			t.Errorf("it was first seen %s and last %s", first, last)
		}
		if diff := cmp.Diff([]string{"Warning InvalidSpec: no such field"}, sink.told("other")); diff != "" {
			t.Errorf("events of another object (-want +got):\n%s", diff)
		}
		sink.events = nil // they go after an hour
		e.Event(rolloutNamed("web"), corev1.EventTypeWarning, "InvalidSpec", "no such field")
		synctest.Wait()
		if diff := cmp.Diff([]string{"Warning InvalidSpec: no such field"}, sink.told("web")); diff != "" {
			t.Errorf("events after an hour (-want +got):\n%s", diff)
		}
	})
}

// While the API server is slow, a size that goes up and down is told once for each way, with a count. Transitions are told one by one.
func TestOnlySizesThatWaitAreTakenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writes := 0
		sink := &eventSink{answer: func(context.Context, *corev1.Event) (bool, error) {
			writes++
			time.Sleep(time.Second)
			return true, nil
		}}
		e, _ := recorderFor(sink)
		web := rolloutNamed("web")
		e.Event(web, corev1.EventTypeNormal, "RolloutUpdated", "begun")
		for range 3 {
			e.Event(web, corev1.EventTypeNormal, "ScalingReplicaSet", "from 1 to 2")
			e.Event(web, corev1.EventTypeNormal, "ScalingReplicaSet", "from 2 to 1")
			e.Event(web, corev1.EventTypeNormal, "RolloutPaused", "paused")
			e.Event(web, corev1.EventTypeNormal, "RolloutResumed", "resumed")
		}
		time.Sleep(time.Minute)
		want := []string{
			"Normal RolloutUpdated: begun", "Normal ScalingReplicaSet: from 1 to 2 x3", "Normal ScalingReplicaSet: from 2 to 1 x3",
			"Normal RolloutPaused: paused x3", "Normal RolloutResumed: resumed x3",
		}
		if diff := cmp.Diff(want, sink.told("web")); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if writes != 1+2+6 {
			t.Errorf("%d requests: each transition is one, and each kind of scaling", writes)
		}
	})
}

func TestAnEventWithoutAnAnswerIsSentAgainAndHoldsOnlyItsOwnObjectUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		sink := &eventSink{answer: func(_ context.Context, e *corev1.Event) (bool, error) {
			if e.InvolvedObject.Name == "web" && down.Load() {
				return true, errors.New("connection reset") // it was done, but the answer was lost
			}
			return true, nil
		}}
		e, registry := recorderFor(sink)
		e.Event(rolloutNamed("web"), corev1.EventTypeNormal, "RolloutPaused", "first")
		e.Event(rolloutNamed("web"), corev1.EventTypeNormal, "RolloutResumed", "second")
		e.Event(rolloutNamed("other"), corev1.EventTypeNormal, "RolloutPaused", "meanwhile")
		synctest.Wait()
		if diff := cmp.Diff([]string{"Normal RolloutPaused: meanwhile"}, sink.told("other")); diff != "" {
			t.Errorf("another object's events (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"Normal RolloutPaused: first"}, sink.told("web")); diff != "" {
			t.Errorf("events without an answer (-want +got):\n%s", diff)
		}
		down.Store(false)
		time.Sleep(resend)
		synctest.Wait()
		if diff := cmp.Diff([]string{"Normal RolloutPaused: first", "Normal RolloutResumed: second"}, sink.told("web")); diff != "" {
			t.Errorf("events after they were sent again (-want +got):\n%s", diff)
		}
		lostEvents(t, registry, "")
	})
}

func TestAnEventThatIsNotTakenLosesNoLaterOne(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		wait time.Duration
	}{
		"refused":   {err: apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "x", errors.New("quota"))},
		"no answer": {err: errors.New("connection refused"), wait: 10 * time.Second},
		"too many":  {err: apierrors.NewTooManyRequests("slow down", 1), wait: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				sink := &eventSink{answer: func(_ context.Context, e *corev1.Event) (bool, error) {
					if e.Message == "lost" {
						sent++
						return false, c.err
					}
					return true, nil
				}}
				e, registry := recorderFor(sink)
				e.Event(rolloutNamed("web"), corev1.EventTypeNormal, "RolloutPaused", "lost")
				e.Event(rolloutNamed("web"), corev1.EventTypeNormal, "RolloutResumed", "later")
				time.Sleep(c.wait)
				synctest.Wait()
				if diff := cmp.Diff([]string{"Normal RolloutResumed: later"}, sink.told("web")); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if want := map[bool]int{true: 1, false: attempts}[c.wait == 0]; sent != want {
					t.Errorf("it was sent %d times", sent)
				}
				lostEvents(t, registry, `sluice_events_lost_total{namespace="ns"} 1`)
			})
		})
	}
}

// A namespace whose events never finish does not delay those of others, and loses only its own.
func TestANamespaceThatFloodsLosesItsOwnEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		sink := &eventSink{answer: func(_ context.Context, e *corev1.Event) (bool, error) {
			if e.InvolvedObject.Namespace == "hostile" {
				<-open
			}
			return true, nil
		}}
		e, registry := recorderFor(sink)
		const flood = 5000
		for i := range flood {
			e.Event(rolloutIn("hostile", "flood"), corev1.EventTypeNormal, "ScalingReplicaSet", fmt.Sprintf("from %d", i))
			if i%100 == 0 {
				e.Event(rolloutIn("hostile", fmt.Sprintf("quiet-%d", i)), corev1.EventTypeNormal, "RolloutPaused", "paused")
			}
		}
		for i := range 20 {
			e.Event(rolloutIn("victim", fmt.Sprintf("web-%d", i)), corev1.EventTypeNormal, "RolloutCompleted", "done")
		}
		synctest.Wait()
		for i := range 20 {
			if told := sink.told(fmt.Sprintf("web-%d", i)); len(told) != 1 {
				t.Errorf("a rollout of another namespace has the events %q", told)
			}
		}
		close(open)
		synctest.Wait()
		told := sink.told("flood")
		if last := told[len(told)-1]; last != fmt.Sprintf("Normal ScalingReplicaSet: from %d", flood-1) {
			t.Errorf("the last event of the flood is %q", last)
		}
		if told := sink.told("quiet-4900"); len(told) != 1 {
			t.Errorf("a quiet rollout of the same namespace has the events %q", told)
		}
		kept := len(sink.events) - 20
		if kept > spaceEvents+spacePublishers {
			t.Errorf("%d events waited", kept)
		}
		lostEvents(t, registry, fmt.Sprintf(`sluice_events_lost_total{namespace="hostile"} %d`, flood+50-kept))
	})
}

// Namespaces take turns, and so do the objects of one.
func TestNamespacesTakeTurns(t *testing.T) {
	sink := &eventSink{}
	e, _ := recorderFor(sink)
	var publish []func()
	e.start = func(f func()) { publish = append(publish, f) }
	for i := range 3 {
		e.Event(rolloutIn("a", "one"), corev1.EventTypeNormal, "RolloutPaused", fmt.Sprint(i))
	}
	e.Event(rolloutIn("a", "two"), corev1.EventTypeNormal, "RolloutPaused", "a")
	e.Event(rolloutIn("b", "three"), corev1.EventTypeNormal, "RolloutPaused", "b")
	for _, f := range publish {
		f()
	}
	var order []string
	for _, event := range sink.events {
		order = append(order, event.InvolvedObject.Name)
	}
	if diff := cmp.Diff([]string{"one", "three", "two", "one", "one"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if len(e.queue.spaces) != 0 || len(e.queue.turns) != 0 || e.queue.waiting != 0 || e.busy != 0 {
		t.Errorf("the queue keeps %+v", e.queue)
	}
}

// All namespaces together are bounded, too: the one with the most waiting loses.
func TestTheQueueAsAWholeIsBounded(t *testing.T) {
	q := newEventQueue()
	event := func(namespace string, i int) *corev1.Event {
		return &corev1.Event{InvolvedObject: corev1.ObjectReference{Namespace: namespace, UID: "1"}, Reason: "RolloutPaused", Message: fmt.Sprint(i)}
	}
	add := func(namespace string, n int) (dropped map[string]int) {
		dropped = map[string]int{}
		for i := range n {
			if gone := q.add(event(namespace, i)); gone != nil {
				dropped[gone.InvolvedObject.Namespace]++
			}
		}
		return dropped
	}
	add("full", spaceEvents)
	for i := range 9 {
		if dropped := add(fmt.Sprintf("quiet-%d", i), 950); len(dropped) > 0 {
			t.Fatalf("there is room, and %v are dropped", dropped)
		}
	}
	if diff := cmp.Diff(map[string]int{"full": 40}, add("last", allEvents-spaceEvents-9*950+40)); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	if q.waiting != allEvents {
		t.Errorf("%d events wait", q.waiting)
	}
}

func TestAControllerThatStopsPublishesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := time.Millisecond
		sink := &eventSink{answer: func(context.Context, *corev1.Event) (bool, error) {
			time.Sleep(slow)
			return true, nil
		}}
		e, _ := recorderFor(sink)
		stopped, stop := context.WithCancel(t.Context())
		stop()
		end := func() {
			if err := e.Start(stopped); err != nil {
				t.Fatal(err)
			}
		}
		end()
		e.Event(rolloutNamed("web"), corev1.EventTypeNormal, "RolloutPaused", "paused")
		e.Event(rolloutNamed("web"), corev1.EventTypeNormal, "RolloutCompleted", "done")
		end()
		if diff := cmp.Diff([]string{"Normal RolloutPaused: paused", "Normal RolloutCompleted: done"}, sink.told("web")); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		slow = time.Hour
		e.Event(rolloutNamed("web"), corev1.EventTypeNormal, "RolloutUpdated", "again")
		began := time.Now()
		end()
		if took := time.Since(began); took != farewell {
			t.Errorf("an API server that does not answer held the end up for %s", took)
		}
		time.Sleep(2 * time.Hour) // until everybody has gone home
	})
}
