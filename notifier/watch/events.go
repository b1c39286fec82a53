package watch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/notified"
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
	object := kind(event.InvolvedObject.Kind)
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: event.Namespace, Name: event.InvolvedObject.Name}, object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	all, err := r.configs.of(ctx, event.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	trigger := config.TriggerOf(event.Reason)
	for _, l := range all {
		to, wrong := l.Subscribed(object.GetAnnotations(), object.GetLabels(), !toldTwice(&event, object))
		for _, err := range wrong {
			r.log.Debug("a subscription is left out", "object", event.InvolvedObject.Name, "namespace", event.Namespace, "error", err)
		}
		if len(to[trigger]) == 0 || len(l.Triggers[trigger]) == 0 {
			continue
		}
		fits, err := r.trigger(ctx, l, &event, object, trigger, to[trigger])
		if err != nil || !fits {
			return reconcile.Result{RequeueAfter: crowded}, err
		}
	}
	return reconcile.Result{}, nil
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
	return e.InvolvedObject.APIVersion == v1alpha1.GroupVersion.String() &&
		e.InvolvedObject.Namespace == e.Namespace && e.Source.Component == v1alpha1.EventSource &&
		!at.Before(r.since) && r.clock.Since(at) < r.maxAge
}

// trigger looks at one trigger. It reports false if there was no room for a message.
func (r *events) trigger(ctx context.Context, l *loaded, e *corev1.Event, object *unstructured.Unstructured, trigger string, to []config.Destination) (fits bool, err error) {
	seen, err := about(ctx, r.client, r.live, object, e)
	if err != nil {
		return false, err
	}
	fits = true
	for i, condition := range l.Triggers[trigger] {
		s, met, once, err := r.met(ctx, seen, l, trigger, condition)
		if err != nil {
			r.log.Debug("a condition counts as false", "trigger", trigger, "object", object.GetName(), "namespace", object.GetNamespace(), "error", err)
		}
		if !met {
			continue
		}
		for _, dest := range to {
			m := notified.Message{Once: fmt.Sprint(e.Count), Namespace: l.stateNamespace(), Trigger: trigger, Condition: condition.Key(i), To: dest}
			d := delivery{subject: s, config: l, trigger: trigger, condition: condition, to: dest, key: m.Key(), in: []recorded{{e, m.Key()}}}
			if once != "" && s.rollout != nil {
				m.Once = once
				d.in = append(d.in, recorded{s.rollout, m.Key()})
			}
			if slices.ContainsFunc(d.in, r.was) {
				continue
			}
			fits = r.send(d) && fits
		}
	}
	return fits, nil
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
