package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/notified"
	"github.com/sluice-delivery/sluice/notifier/past"
)

// missed are the events of Rollouts that were there when this process began to lead. A state that was reported is recorded in the Rollout, also
// when it is over; one that is not may have begun and ended while no notifier ran, or while its message waited in one that was killed.
type missed struct {
	mu     sync.Mutex
	events map[types.UID][]corev1.Event
}

// of returns a Rollout's events, until done is called for it.
func (m *missed) of(ctx context.Context, n *notifier, uid types.UID) ([]corev1.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.events == nil {
		var list corev1.EventList
		if err := n.client.List(ctx, &list); err != nil {
			return nil, fmt.Errorf("list events: %w", err)
		}
		m.events = map[types.UID][]corev1.Event{}
		for i := range list.Items {
			if e := &list.Items[i]; past.Tells(e.Reason) && e.InvolvedObject.Kind == "Rollout" && n.concerns(e) {
				m.events[e.InvolvedObject.UID] = append(m.events[e.InvolvedObject.UID], *e)
			}
		}
	}
	return m.events[uid], nil
}

func (m *missed) done(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.events, uid)
}

// catchUp sends what was missed. It reports false if there was no room for a message.
func (r *rollouts) catchUp(ctx context.Context, rollout *unstructured.Unstructured, all []*loaded) (fits bool, err error) {
	events, err := r.missed.of(ctx, r.notifier, rollout.GetUID())
	if err != nil || len(events) == 0 {
		return err == nil, err
	}
	fits = true
	h := &history{rollouts: r, rollout: rollout, moments: past.Moments(events)}
	for _, l := range all {
		for trigger, to := range r.subscribed(l, rollout) {
			if h.states == nil {
				if err := h.read(ctx); err != nil {
					return false, err
				}
			}
			for i, condition := range l.Triggers[trigger] {
				if condition.When == "" || condition.Err != nil || !condition.OfStates(trigger) {
					continue
				}
				for _, dest := range to {
					fits = h.condition(ctx, l, trigger, i, dest) && fits
				}
			}
		}
	}
	if len(h.over) > 0 {
		if err := r.forget(ctx, &subject{object: rollout, rollout: rollout}, h.over); err != nil {
			return false, err
		}
		notified.Forget(rollout, h.over)
	}
	if fits {
		r.missed.done(rollout.GetUID())
	}
	return fits, nil
}

// history is what a Rollout was like, and now is.
type history struct {
	*rollouts
	rollout *unstructured.Unstructured
	// moments are those after which its phase is known, states what it was like then. One more state is the present one.
	moments []past.Moment
	states  []*subject
	// sets are the namespace's ReplicaSets, once they were needed.
	sets *unstructured.UnstructuredList
	// over are keys of states that ended and began again.
	over []string
}

func (h *history) read(ctx context.Context) error {
	moments := h.moments
	h.moments, h.states = nil, make([]*subject, 0, len(moments)+1)
	for i, state := range append(past.States(h.rollout, moments), h.rollout) {
		if state == nil {
			continue
		}
		if err := h.ofItsRevision(ctx, state); err != nil {
			return err
		}
		s, err := about(ctx, h.client, h.live, state, nil)
		if err != nil {
			return err
		}
		if i < len(moments) {
			s.missed = moments[i].At
			h.moments = append(h.moments, moments[i])
		}
		h.states = append(h.states, s)
	}
	return nil
}

// ofItsRevision gives a state of an earlier revision that one's pods, if its ReplicaSet is still there.
func (h *history) ofItsRevision(ctx context.Context, state *unstructured.Unstructured) error {
	revision := state.GetAnnotations()[v1alpha1.RevisionAnnotation]
	if revision == h.rollout.GetAnnotations()[v1alpha1.RevisionAnnotation] {
		return nil
	}
	if h.sets == nil {
		if err := h.live.List(ctx, h.replicaSets(), client.InNamespace(state.GetNamespace())); err != nil {
			return fmt.Errorf("list ReplicaSets: %w", err)
		}
	}
	for i := range h.sets.Items {
		rs := &h.sets.Items[i]
		if rs.GetAnnotations()[v1alpha1.RevisionAnnotation] != revision || !metav1.IsControlledBy(rs, h.rollout) {
			continue
		}
		template, _, err := unstructured.NestedMap(rs.Object, "spec", "template")
		if err != nil {
			return err
		}
		unstructured.RemoveNestedField(state.Object, "spec", "workloadRef")
		return errors.Join(unstructured.SetNestedMap(state.Object, template, "spec", "template"),
			unstructured.SetNestedField(state.Object, rs.GetLabels()[v1alpha1.PodTemplateHashLabel], "status", "currentPodHash"))
	}
	return nil
}

func (h *history) replicaSets() *unstructured.UnstructuredList {
	h.sets = &unstructured.UnstructuredList{}
	h.sets.SetAPIVersion("apps/v1")
	h.sets.SetKind("ReplicaSetList")
	return h.sets
}

// met says in which states a condition was true. It is asked at their ends, for those that ask how long a state has lasted.
func (h *history) met(ctx context.Context, l *loaded, trigger string, condition config.Condition) []bool {
	all := make([]bool, len(h.states))
	for i, s := range h.states {
		end := h.clock.Now()
		if i+1 < len(h.moments) {
			end = h.moments[i+1].At
		}
		met, err := condition.Met(ctx, s.variables(l, trigger, end), end)
		if err != nil {
			h.log.Debug("a condition counts as false", "trigger", trigger, "rollout", h.rollout.GetNamespace()+"/"+h.rollout.GetName(), "error", err)
		}
		all[i] = met
	}
	return all
}

// condition sends a message for each time that a condition became true, was reported by nobody, and is over. What is true now is the business of
// rollouts.trigger.
func (h *history) condition(ctx context.Context, l *loaded, trigger string, index int, to config.Destination) (fits bool) {
	condition := l.Triggers[trigger][index]
	m := notified.Message{Namespace: l.stateNamespace(), Trigger: trigger, Condition: condition.Key(index), To: to}
	held, isHeld := notified.Parse(h.rollout.GetAnnotations()[notified.Annotation])[m.Key()]
	ended := notified.Parse(h.rollout.GetAnnotations()[notified.Before])[m.Key()]
	met := h.met(ctx, l, trigger, condition)
	fits = true
	began, before := -1, isHeld && len(h.moments) > 0 && held < h.moments[0].At.Unix()
	for i, now := range met {
		switch {
		case now && !before:
			began = i
		case !now && began >= 0:
			if at := h.moments[began].At; held < at.Unix() && ended < at.UnixMilli() {
				fits = h.late(ctx, l, m, condition, began) && fits
			}
			began = -1
		}
		if !now && i < len(h.moments) && isHeld && held < h.moments[i].At.Unix() && met[len(met)-1] {
			h.over, isHeld = append(h.over, m.Key()), false
		}
		before = now
	}
	return fits
}

// late sends a message about a state that is over. It is recorded in the event that the state began with.
func (h *history) late(ctx context.Context, l *loaded, m notified.Message, condition config.Condition, began int) bool {
	s, moment := h.states[began], h.moments[began]
	once, err := condition.Once(ctx, s.variables(l, m.Trigger, moment.At), moment.At)
	if err != nil {
		return true
	}
	d := delivery{subject: s, config: l, trigger: m.Trigger, condition: condition, to: m.To}
	m.Once = fmt.Sprint(moment.Count)
	d.key = m.Key()
	d.in = []recorded{{moment.Event, d.key}}
	if m.Once = once; once != "" {
		d.in = append(d.in, recorded{h.rollout, m.Key()})
	}
	if slices.ContainsFunc(d.in, h.was) {
		return true
	}
	return h.send(d)
}
