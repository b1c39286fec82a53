package watch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/argoproj/notifications-engine/pkg/services"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/notifier/config"
)

// Variables are what a message about a Rollout knows, for commands that show one. Without a cluster, reader is nil, and nothing is known but
// the object itself.
func Variables(ctx context.Context, reader client.Reader, rollout *unstructured.Unstructured, c *config.Config, trigger string, to config.Destination, now time.Time) (map[string]any, error) {
	s, err := Look(ctx, reader, rollout)
	if err != nil {
		return nil, err
	}
	vars := s.variables(&loaded{Config: c}, trigger, now)
	vars["serviceType"], vars["recipient"] = to.Service, to.Recipient
	return vars, nil
}

// Seen is a Rollout, and what messages about it may show.
type Seen struct{ *subject }

// Look gathers what messages about a Rollout may show. Without a cluster, reader is nil.
func Look(ctx context.Context, reader client.Reader, rollout *unstructured.Unstructured) (Seen, error) {
	if reader == nil {
		return Seen{&subject{object: rollout, rollout: rollout}}, nil
	}
	s, err := about(ctx, reader, reader, rollout, nil)
	return Seen{s}, err
}

// With is a Rollout with its AnalysisRuns, the newest first, and the pod template that an update replaces.
func With(rollout *unstructured.Unstructured, runs []any, stable map[string]any) Seen {
	return Seen{&subject{object: rollout, rollout: rollout, runs: runs, stable: stable}}
}

// Due is a message to which a subscription leads, or why there is none.
type Due struct {
	Trigger string             `json:"trigger"`
	To      config.Destination `json:"to"`
	// Event is the reason of the event that the message is about, empty for a state.
	Event string `json:"event,omitempty"`
	// Skipped is why nothing is sent, Error what is wrong with the message.
	Skipped string                 `json:"skipped,omitempty"`
	Error   string                 `json:"error,omitempty"`
	Message *services.Notification `json:"message,omitempty"`
}

// Try works out messages without sending them.
type Try struct {
	config *loaded
	// held are states that were reported and last, once what is reported once for each value of oncePer.
	held, once map[string]bool
}

// NewTry returns one that has seen nothing yet.
func NewTry(c *config.Config) *Try {
	return &Try{config: &loaded{Config: c}, held: map[string]bool{}, once: map[string]bool{}}
}

// At are the messages about a Rollout at a time: for each of the events, and for states that begin. What is skipped is part of them.
func (t *Try) At(ctx context.Context, s Seen, events []corev1.Event, now time.Time) ([]Due, []error) {
	to, wrong := t.config.Subscribed(s.rollout.GetAnnotations(), s.rollout.GetLabels(), true)
	for i := range events {
		if e := &events[i]; s.action == nil && e.Reason == v1alpha1.EventUserAction {
			of := *s.subject
			of.action, s = e, Seen{&of}
		}
	}
	var all []Due
	for _, trigger := range slices.Sorted(maps.Keys(to)) {
		for _, dest := range to[trigger] {
			all = append(all, t.trigger(ctx, s, events, trigger, dest, now)...)
		}
	}
	return all, wrong
}

func (t *Try) trigger(ctx context.Context, s Seen, events []corev1.Event, trigger string, to config.Destination, now time.Time) []Due {
	due := Due{Trigger: trigger, To: to}
	conditions, known := t.config.Triggers[trigger]
	if !known {
		due.Skipped = fmt.Sprintf("trigger '%s' is not configured", trigger)
		return []Due{due}
	}
	fires := func(e *corev1.Event) bool {
		return slices.ContainsFunc(conditions, func(c config.Condition) bool { return c.Fires(trigger, e.Reason) })
	}
	var all []Due
	if slices.ContainsFunc(conditions, func(c config.Condition) bool { return c.OfStates(trigger) }) {
		all = t.conditions(ctx, s, trigger, conditions, to, now)
	}
	for i := range events {
		if fires(&events[i]) {
			of := *s.subject
			of.event = &events[i]
			all = append(all, t.conditions(ctx, Seen{&of}, trigger, conditions, to, now)...)
		}
	}
	if len(all) == 0 {
		due.Skipped = "there is no event of this trigger"
		all = []Due{due}
	}
	return all
}

func (t *Try) conditions(ctx context.Context, s Seen, trigger string, conditions []config.Condition, to config.Destination, now time.Time) []Due {
	var all []Due
	for i, condition := range conditions {
		if s.event == nil && !condition.OfStates(trigger) || s.event != nil && !condition.Fires(trigger, s.event.Reason) {
			continue
		}
		due := Due{Trigger: trigger, To: to}
		if s.event != nil {
			due.Event = s.event.Reason
		}
		due.Skipped, due.Error = t.reason(ctx, s, trigger, condition, fmt.Sprint(i, " ", trigger, " ", to), now)
		if due.Skipped == "" && due.Error == "" {
			due.Message, due.Error = t.render(s, trigger, condition, to, now)
		}
		all = append(all, due)
	}
	return all
}

// reason says why a condition leads to no message.
func (t *Try) reason(ctx context.Context, s Seen, trigger string, c config.Condition, key string, now time.Time) (skipped, wrong string) {
	vars := s.variables(t.config, trigger, now)
	switch {
	case c.Err != nil:
		return "", c.Err.Error()
	case c.When == "" && s.event == nil:
		return "it has no when, and is not named after an event", ""
	case c.When != "":
		met, err := c.Met(ctx, vars, now)
		if err != nil {
			return "", err.Error()
		}
		if !met {
			delete(t.held, key)
			return fmt.Sprintf("when %q is false", c.When), ""
		}
	}
	once, err := c.Once(ctx, vars, now)
	switch {
	case err != nil:
		return "", err.Error()
	case once != "" && t.once[once+" "+key]:
		return fmt.Sprintf("oncePer: it was sent for %s", once), ""
	case once == "" && s.event == nil && t.held[key]:
		return "it was sent when this began", ""
	}
	t.held[key], t.once[once+" "+key] = true, true
	return "", ""
}

func (t *Try) render(s Seen, trigger string, c config.Condition, to config.Destination, now time.Time) (*services.Notification, string) {
	if _, known := t.config.Services[to.Service]; !known {
		return nil, fmt.Sprintf("notification service '%s' is not supported: add the key service.%s to the ConfigMap", to.Service, to.Service)
	}
	vars := s.variables(t.config, trigger, now)
	vars["serviceType"], vars["recipient"] = to.Service, to.Recipient
	n, err := t.config.Render(c.Send, vars)
	if err != nil {
		return nil, err.Error()
	}
	return &n, ""
}

// Latest are a Rollout's latest events, one for each reason.
func Latest(ctx context.Context, reader client.Reader, rollout *unstructured.Unstructured) ([]corev1.Event, error) {
	var list corev1.EventList
	if err := reader.List(ctx, &list, client.InNamespace(rollout.GetNamespace())); err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	latest := map[string]corev1.Event{}
	for i := range list.Items {
		e := &list.Items[i]
		if before, there := latest[e.Reason]; e.InvolvedObject.UID == rollout.GetUID() && (!there || happened(e).After(happened(&before))) {
			latest[e.Reason] = *e
		}
	}
	return slices.SortedFunc(maps.Values(latest), func(a, b corev1.Event) int { return happened(&a).Compare(happened(&b)) }), nil
}
