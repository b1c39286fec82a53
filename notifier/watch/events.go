package watch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/notified"
	"github.com/sluice-delivery/sluice/notifier/past"
)

// events sends a message for each event to whose trigger someone has subscribed.
type events struct{ *notifier }

// Reconcile looks at one event.
func (r *events) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var event corev1.Event
	if err := r.client.Get(ctx, request.NamespacedName, &event); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !r.concerns(&event) {
		return reconcile.Result{}, nil
	}
	object, err := objectOf(ctx, r.client, r.live, &event, r.clock.Now())
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	all, err := r.configs.of(ctx, event.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	result := reconcile.Result{}
	for _, l := range all {
		to, wrong := l.Subscribed(object.GetAnnotations(), object.GetLabels(), !toldTwice(&event, object))
		for _, err := range wrong {
			r.log.Debug("a subscription is left out", "object", event.InvolvedObject.Name, "namespace", event.Namespace, "error", err)
		}
		for _, e := range past.Apart(&event) {
			for _, trigger := range slices.Sorted(maps.Keys(to)) {
				wait, err := r.trigger(ctx, l, e, object, trigger, to[trigger])
				if err != nil {
					return reconcile.Result{}, err
				}
				result.RequeueAfter = max(result.RequeueAfter, wait)
			}
		}
	}
	return result, nil
}

// behind is for how long after an event the cache of its object's kind may not have the object yet.
const behind = time.Minute

// objectOf is the object that an event is about. Objects and events come to two caches: where an event comes first, the API server is asked, or the
// message would never be sent.
func objectOf(ctx context.Context, cached, live client.Reader, e *corev1.Event, now time.Time) (*unstructured.Unstructured, error) {
	object, key := kind(e.InvolvedObject.Kind), client.ObjectKey{Namespace: e.Namespace, Name: e.InvolvedObject.Name}
	err := cached.Get(ctx, key, object)
	if apierrors.IsNotFound(err) && now.Sub(happened(e)) < behind {
		object = kind(e.InvolvedObject.Kind)
		err = live.Get(ctx, key, object)
	}
	return object, err
}

// toldTwice reports whether an event is also one on the Rollout that owns the object: those who subscribe to all objects get that one.
func toldTwice(e *corev1.Event, object *unstructured.Unstructured) bool {
	owned := metav1.GetControllerOf(object) != nil
	return owned && (strings.HasPrefix(e.Reason, v1alpha1.EventAnalysisRunPrefix) || strings.HasPrefix(e.Reason, v1alpha1.EventExperimentPrefix))
}

// concerns reports whether an event is one of the controller on an object of ours, and not too old.
func (r *notifier) concerns(e *corev1.Event) bool {
	switch e.InvolvedObject.Kind {
	case "Rollout", "AnalysisRun", "Experiment":
	default:
		return false
	}
	at := happened(e)
	return e.InvolvedObject.APIVersion == v1alpha1.GroupVersion.String() && e.InvolvedObject.Namespace == e.Namespace && ours(e) &&
		!at.Before(r.since) && r.clock.Since(at) < r.maxAge
}

// ours reports whether an event is one of Sluice's.
func ours(e *corev1.Event) bool {
	if e.Reason == v1alpha1.EventUserAction {
		return e.Source.Component == v1alpha1.DashboardEventSource || e.Source.Component == v1alpha1.CLIEventSource
	}
	return e.Source.Component == v1alpha1.EventSource
}

// settled is how old an abort must be for conditions with `events`: who did it is an event of the dashboard or of the CLI, written at about the same time.
const settled = 3 * time.Second

// early is how much too early it is to ask a condition about an event.
func (r *events) early(c config.Condition, e *corev1.Event) time.Duration {
	if len(c.Events) == 0 || e.Reason != v1alpha1.EventRolloutAborted {
		return 0
	}
	return settled - r.clock.Since(happened(e))
}

// trigger looks at one trigger. It returns when to look again, zero for never: there was no room for a message, or it is too early.
func (r *events) trigger(ctx context.Context, l *loaded, e *corev1.Event, object *unstructured.Unstructured, trigger string, to []config.Destination) (wait time.Duration, err error) {
	var seen *subject
	for i, condition := range l.Triggers[trigger] {
		if !condition.Fires(trigger, e.Reason) {
			continue
		}
		if early := r.early(condition, e); early > 0 {
			wait = max(wait, early)
			continue
		}
		of := notified.Message{Once: fmt.Sprint(e.Count), Namespace: l.stateNamespace(), Trigger: trigger, Condition: condition.Key(i)}
		left, crowd := r.left(l, e, of, to)
		if crowd {
			wait = max(wait, crowded)
		}
		if len(left) == 0 {
			continue
		}
		if seen == nil {
			if seen, err = about(ctx, r.client, r.live, object, e); err != nil {
				return 0, err
			}
		}
		s, met, once, err := r.met(ctx, seen, l, trigger, condition)
		if err != nil {
			r.log.Debug("a condition counts as false", "trigger", trigger, "object", object.GetName(), "namespace", object.GetNamespace(), "error", err)
		}
		if !met {
			continue
		}
		for _, of := range left {
			d := delivery{subject: s, config: l, trigger: trigger, condition: condition, to: of.To, key: of.Key(), in: []recorded{{e, of.Key()}}}
			if of.Once = once; once != "" && s.rollout != nil {
				d.in = append(d.in, recorded{s.rollout, of.Key()})
			}
			if !slices.ContainsFunc(d.in, r.was) && !r.send(d) {
				wait = max(wait, crowded)
			}
		}
	}
	return wait, nil
}

// left are the messages of a condition that were not sent, and whether there are more, for which there is no room now.
func (r *events) left(l *loaded, e *corev1.Event, m notified.Message, to []config.Destination) (all []notified.Message, crowd bool) {
	for _, m.To = range to {
		switch {
		case r.was(recorded{e, m.Key()}):
		case r.queues.Room(e.Namespace, destination(l, m.To)):
			all = append(all, m)
		default:
			crowd = true
		}
	}
	return all, crowd
}

// met evaluates a condition on what was seen. What the caches show may be older than the event, so a condition that is false is asked once
// more of the object as it is now.
func (r *events) met(ctx context.Context, s *subject, l *loaded, trigger string, c config.Condition) (_ *subject, met bool, once string, err error) {
	if c.Err != nil {
		return s, false, "", c.Err
	}
	now := r.clock.Now()
	vars := s.variables(l, trigger, now)
	if c.When != "" {
		met, err = c.Met(ctx, vars, now)
		if !met {
			if s, err = r.fresh(ctx, s); err != nil {
				return s, false, "", err
			}
			vars = s.variables(l, trigger, now)
			met, err = c.Met(ctx, vars, now)
		}
		if !met || err != nil {
			return s, false, "", err
		}
	}
	once, err = c.Once(ctx, vars, now)
	return s, true, once, err
}

func (r *events) fresh(ctx context.Context, s *subject) (*subject, error) {
	object := kind(s.object.GetKind())
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(s.object), object); err != nil {
		return s, client.IgnoreNotFound(err)
	}
	return about(ctx, r.client, r.live, object, s.event)
}
