package controller

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

const (
	// spaceEvents is how many events of one namespace may wait to be published, and allEvents how many of all namespaces.
	spaceEvents, allEvents = 1_000, 10_000
)

// eventQueue holds the events that wait to be published. Namespaces take turns, and so do the objects of a namespace; the events on one
// object come in their order, one at a time.
//
// It is bounded, for each namespace and overall. When a bound is exceeded, one event is dropped: from the namespace at its
// bound or, if the overall bound is exceeded, from the namespace with the most waiting events; within it from the object
// with the most waiting events, its oldest one. So anyone who floods the queue loses only their own events.
type eventQueue struct {
	spaces map[string]*eventSpace
	// turns are the spaces that have an object whose turn it may be, in their order.
	turns   []*eventSpace
	waiting int
}

// eventSpace is a namespace in the queue.
type eventSpace struct {
	name    string
	objects map[types.UID]*eventObject
	// turns are the objects with events of which none is being sent, in their order.
	turns []*eventObject
	// waiting is how many events wait, underway how many are being sent.
	waiting, underway int
}

// eventObject is an object in the queue, with its events in their order. held: one of them is being sent, or waits to be sent
// again.
type eventObject struct {
	uid    types.UID
	events []*eventTurn
	held   bool
}

// eventTurn is an event, and where it is in the queue.
type eventTurn struct {
	event    *corev1.Event
	space    *eventSpace
	object   *eventObject
	attempts int
}

func newEventQueue() eventQueue { return eventQueue{spaces: map[string]*eventSpace{}} }

// add adds an event, and returns the one that is dropped for it, if any.
func (q *eventQueue) add(event *corev1.Event) (dropped *corev1.Event) {
	space := q.space(event.InvolvedObject.Namespace)
	object := space.object(event.InvolvedObject.UID)
	if object.joins(event) {
		return nil
	}
	object.events = append(object.events, &eventTurn{event: event, space: space, object: object})
	space.waiting++
	q.waiting++
	if len(object.events) == 1 && !object.held {
		q.queueUp(space, object)
	}
	if space.waiting > spaceEvents {
		return q.drop(space)
	}
	if q.waiting > allEvents {
		return q.drop(q.fullest())
	}
	return nil
}

func (q *eventQueue) space(name string) *eventSpace {
	space, there := q.spaces[name]
	if !there {
		space = &eventSpace{name: name, objects: map[types.UID]*eventObject{}}
		q.spaces[name] = space
	}
	return space
}

func (s *eventSpace) object(uid types.UID) *eventObject {
	object, there := s.objects[uid]
	if !there {
		object = &eventObject{uid: uid}
		s.objects[uid] = object
	}
	return object
}

// joins adds to an event that waits, if this one says the same of a size that goes up and down. Transitions are told one by one.
func (o *eventObject) joins(event *corev1.Event) bool {
	if event.Reason != v1alpha1.EventScalingReplicaSet {
		return false
	}
	for _, turn := range o.events {
		if have := turn.event; turn.attempts == 0 && have.Message == event.Message && sameEvent(have) == sameEvent(event) {
			have.Count++
			have.LastTimestamp = event.LastTimestamp
			return true
		}
	}
	return false
}

func (q *eventQueue) queueUp(space *eventSpace, object *eventObject) {
	space.turns = append(space.turns, object)
	if len(space.turns) == 1 {
		q.turns = append(q.turns, space)
	}
}

// fullest is the space that has the most waiting.
func (q *eventQueue) fullest() *eventSpace {
	return slices.MaxFunc(slices.Collect(maps.Values(q.spaces)), func(a, b *eventSpace) int {
		return cmp.Or(cmp.Compare(a.waiting, b.waiting), cmp.Compare(b.name, a.name))
	})
}

// drop drops the oldest event on the object of a space that has the most.
func (q *eventQueue) drop(space *eventSpace) *corev1.Event {
	object := slices.MaxFunc(slices.Collect(maps.Values(space.objects)), func(a, b *eventObject) int {
		return cmp.Or(cmp.Compare(len(a.events), len(b.events)), cmp.Compare(b.uid, a.uid))
	})
	dropped := object.events[0]
	object.events = object.events[1:]
	space.waiting--
	q.waiting--
	if len(object.events) == 0 && !object.held {
		space.turns = slices.DeleteFunc(space.turns, func(o *eventObject) bool { return o == object })
		delete(space.objects, object.uid)
	}
	if len(space.turns) == 0 {
		q.turns = slices.DeleteFunc(q.turns, func(s *eventSpace) bool { return s == space })
	}
	return dropped.event
}

// ready reports whether there is an event that can be sent now.
func (q *eventQueue) ready() bool { return slices.ContainsFunc(q.turns, (*eventSpace).ready) }

func (s *eventSpace) ready() bool { return len(s.turns) > 0 && s.underway < spacePublishers }

// take returns the event whose turn it is, nil if none can be sent now. Until its object is free no other one on it is.
func (q *eventQueue) take() *eventTurn {
	i := slices.IndexFunc(q.turns, (*eventSpace).ready)
	if i < 0 {
		return nil
	}
	space := q.turns[i]
	q.turns = slices.Delete(q.turns, i, i+1)
	object := space.turns[0]
	space.turns = space.turns[1:]
	if len(space.turns) > 0 {
		q.turns = append(q.turns, space)
	}
	turn := object.events[0]
	object.events = object.events[1:]
	object.held = true
	space.underway++
	space.waiting--
	q.waiting--
	return turn
}

// sent says that an event is not being sent any more. One that is to be sent again stays the first on its object, which is not free yet.
func (q *eventQueue) sent(turn *eventTurn, again bool) {
	turn.space.underway--
	if again {
		turn.object.events = append([]*eventTurn{turn}, turn.object.events...)
		turn.space.waiting++
		q.waiting++
	}
}

// free says that the next event on an object can be sent.
func (q *eventQueue) free(turn *eventTurn) {
	space, object := turn.space, turn.object
	object.held = false
	if len(object.events) > 0 {
		q.queueUp(space, object)
		return
	}
	delete(space.objects, object.uid)
	if len(space.objects) == 0 {
		delete(q.spaces, space.name)
	}
}
