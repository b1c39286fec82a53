package controller

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// remembered is how many published events are remembered, as many as client-go remembers.
const remembered = 4096

// eventSeries sends events to the API server. One that is identical to an earlier one, but for its time, adds to the count of that one and
// changes its lastTimestamp, as client-go's recorder has it: `kubectl describe` then says "x3 over 5m". An event that is gone since, as they
// go after an hour, is created again.
type eventSeries struct {
	client client.Client
	// published are the events that were published last, by what they say.
	published *lru.Cache
}

// identity is what identical events have in common.
type identity struct {
	uid                     types.UID
	namespace, kind, name   string
	eventType, reason, text string
}

func sameEvent(e *corev1.Event) identity {
	on := e.InvolvedObject
	return identity{on.UID, on.Namespace, on.Kind, on.Name, e.Type, e.Reason, e.Message}
}

func newEventSeries(c client.Client) *eventSeries {
	return &eventSeries{client: c, published: lru.New(remembered)}
}

// published is an event as the API server has it.
type published struct {
	name  string
	count int32
}

// send publishes an event. It may be called again with one of which nobody knows whether it was published.
func (s *eventSeries) send(ctx context.Context, event *corev1.Event) error {
	if earlier, there := s.published.Get(sameEvent(event)); there {
		added, err := s.add(ctx, earlier.(published), event)
		if added || err != nil {
			return err
		}
	}
	// The client writes the answer into what it sends. No two events have one name: one that is there already was sent before.
	if err := s.client.Create(ctx, event.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create event %s: %w", event.Name, err)
	}
	s.published.Add(sameEvent(event), published{event.Name, event.Count})
	return nil
}

// add adds an event to an identical one, unless that is gone, or must not be changed.
func (s *eventSeries) add(ctx context.Context, earlier published, event *corev1.Event) (added bool, err error) {
	sum := event.DeepCopy()
	sum.Name, sum.Count = earlier.name, earlier.count+event.Count
	patch, err := json.Marshal(struct {
		Count         int32       `json:"count"`
		LastTimestamp metav1.Time `json:"lastTimestamp"`
	}{sum.Count, sum.LastTimestamp})
	if err != nil {
		return false, err
	}
	err = s.client.Patch(ctx, sum, client.RawPatch(types.MergePatchType, patch))
	switch {
	case err == nil:
		s.published.Add(sameEvent(event), published{earlier.name, earlier.count + event.Count})
		return true, nil
	case mayPass(err):
		return false, fmt.Errorf("patch event %s: %w", earlier.name, err)
	}
	return false, nil
}
