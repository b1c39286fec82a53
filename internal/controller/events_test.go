package controller

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

// eventSink keeps the events that are published.
type eventSink struct {
	client.Client
	mu     sync.Mutex
	events []*corev1.Event
}

func (s *eventSink) Scheme() *runtime.Scheme { return Scheme() }

func (s *eventSink) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, obj.(*corev1.Event))
	return nil
}

func rolloutNamed(name string) *v1alpha1.Rollout {
	return &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
}

// told are the events on one object as people see them: reason, text, how many.
func (s *eventSink) told(on string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var told []string
	for _, e := range s.events {
		if e.InvolvedObject.Name == on {
			told = append(told, e.Type+" "+e.Reason+": "+e.Message)
		}
	}
	return told
}

func TestOrdinaryEventsAreGatheredByReason(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(100, 0))
	sink := &eventSink{}
	e := newEvents(clock, sink, slog.New(slog.DiscardHandler), telemetry.New(prometheus.NewRegistry(), false))
	web := rolloutNamed("web")
	e.Event(web, corev1.EventTypeNormal, "RolloutUpdated", "Rollout updated to revision 2")
	e.Event(web, corev1.EventTypeNormal, "ScalingReplicaSet", "up")
	clock.Step(time.Second)
	e.Event(web, corev1.EventTypeNormal, "ScalingReplicaSet", "down")
	e.Event(web, corev1.EventTypeNormal, "ScalingReplicaSet", "up")
	e.underway.Wait()
	if told := sink.told("web"); told != nil {
		t.Fatalf("published before the time: %q", told)
	}
	clock.Step(gathering)
	waitUntilReleased(t, e)
	want := []string{"Normal RolloutUpdated: Rollout updated to revision 2", "Normal ScalingReplicaSet: up; down"}
	if diff := cmp.Diff(want, sink.told("web")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	scaling := sink.events[1]
	if scaling.Count != 3 || scaling.LastTimestamp.Sub(scaling.FirstTimestamp.Time) != time.Second {
		t.Errorf("the gathered event counts %d from %s to %s", scaling.Count, scaling.FirstTimestamp, scaling.LastTimestamp)
	}
	if sink.events[0].Name == scaling.Name {
		t.Errorf("two events are called %s", scaling.Name)
	}
}

func TestEventsWaitUntilTheirObjectRests(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(100, 0))
	sink := &eventSink{}
	e := newEvents(clock, sink, slog.New(slog.DiscardHandler), telemetry.New(prometheus.NewRegistry(), false))
	for i := range 4 { // each waits five seconds for the next, which comes after four
		e.Event(rolloutNamed("web"), corev1.EventTypeNormal, "RolloutStepCompleted", fmt.Sprintf("step %d", i))
		clock.Step(gathering - time.Second)
		if told := sink.told("web"); told != nil && i < 3 {
			t.Fatalf("published while there was more to tell: %q", told)
		}
	}
	waitUntilReleased(t, e)
	want := []string{"Normal RolloutStepCompleted: step 0; step 1; step 2; step 3"}
	if diff := cmp.Diff(want, sink.told("web")); diff != "" {
		t.Errorf("after %s events wait no longer (-want +got):\n%s", atMost, diff)
	}
}

func TestAWarningIsPublishedAtOnceBehindWhatWasToldBefore(t *testing.T) {
	sink := &eventSink{}
	e := newEvents(clocktesting.NewFakeClock(time.Unix(100, 0)), sink, slog.New(slog.DiscardHandler), telemetry.New(prometheus.NewRegistry(), false))
	e.Event(rolloutNamed("other"), corev1.EventTypeNormal, "RolloutPaused", "waits")
	e.Event(rolloutNamed("web"), corev1.EventTypeNormal, "RolloutPaused", "before")
	e.Event(rolloutNamed("web"), corev1.EventTypeWarning, "RolloutAborted", "now")
	e.underway.Wait()
	if diff := cmp.Diff([]string{"Normal RolloutPaused: before", "Warning RolloutAborted: now"}, sink.told("web")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if told := sink.told("other"); told != nil {
		t.Errorf("another object's events were published: %q", told)
	}
}

func TestAControllerThatStopsPublishesWhatItGathered(t *testing.T) {
	sink := &eventSink{}
	e := newEvents(clocktesting.NewFakeClock(time.Unix(100, 0)), sink, slog.New(slog.DiscardHandler), telemetry.New(prometheus.NewRegistry(), false))
	e.Event(rolloutNamed("web"), corev1.EventTypeNormal, "RolloutCompleted", "done")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := e.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Normal RolloutCompleted: done"}, sink.told("web")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// waitUntilReleased waits for the timer's own goroutine, and then for those that publish.
func waitUntilReleased(t *testing.T, e *events) {
	t.Helper()
	for {
		e.mu.Lock()
		waiting := len(e.waiting)
		e.mu.Unlock()
		if waiting == 0 {
			break
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the events were never released")
		default:
		}
	}
	e.underway.Wait()
}
