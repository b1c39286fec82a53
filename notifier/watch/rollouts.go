package watch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/notified"
)

// again is when a Rollout is reconciled again that has triggers of states, since their conditions may ask for the time, and crowded when
// there was no room for a message.
const again, crowded = time.Minute, 10 * time.Second

// rollouts sends a message each time a condition of a subscribed trigger becomes true.
type rollouts struct {
	*notifier
	// uids are those of Rollouts that were seen, by name.
	uids   *lru.Cache
	missed missed
}

// Reconcile looks at one Rollout.
func (r *rollouts) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	rollout := kind("Rollout")
	err := r.client.Get(ctx, request.NamespacedName, rollout)
	if apierrors.IsNotFound(err) {
		if uid, ok := r.uids.Get(request.NamespacedName); ok {
			r.memory.forget(uid.(types.UID), "")
		}
		r.meters.forget(request.Namespace, request.Name)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	r.uids.Add(request.NamespacedName, rollout.GetUID())
	if err := r.count(ctx, rollout); err != nil {
		return reconcile.Result{}, err
	}
	all, err := r.configs.of(ctx, request.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	if fits, err := r.catchUp(ctx, rollout, all); err != nil || !fits {
		return reconcile.Result{RequeueAfter: crowded}, err
	}
	var subject *subject
	result := reconcile.Result{}
	for _, l := range all {
		for trigger, to := range r.subscribed(l, rollout) {
			if subject == nil {
				if subject, err = about(ctx, r.client, r.live, rollout, nil); err != nil {
					return reconcile.Result{}, err
				}
				result.RequeueAfter = again
			}
			fits, err := r.trigger(ctx, subject, l, trigger, to)
			if err != nil {
				return reconcile.Result{}, err
			}
			if !fits {
				result.RequeueAfter = crowded
			}
		}
	}
	return result, nil
}

// subscribed are the triggers of states to which someone has subscribed, in order.
func (r *rollouts) subscribed(l *loaded, rollout *unstructured.Unstructured) func(func(string, []config.Destination) bool) {
	all, wrong := l.Subscribed(rollout.GetAnnotations(), rollout.GetLabels(), true)
	if len(wrong) > 0 {
		r.log.Debug("a subscription is left out", "rollout", rollout.GetNamespace()+"/"+rollout.GetName(), "error", errors.Join(wrong...))
	}
	return func(yield func(string, []config.Destination) bool) {
		for _, trigger := range slices.Sorted(maps.Keys(all)) {
			if config.OfEvents(trigger) || l.Triggers[trigger] == nil {
				continue
			}
			if !yield(trigger, all[trigger]) {
				return
			}
		}
	}
}

// trigger looks at one trigger. It reports false if there was no room for a message.
func (r *rollouts) trigger(ctx context.Context, s *subject, l *loaded, trigger string, to []config.Destination) (fits bool, err error) {
	now := r.clock.Now()
	vars := s.variables(l, trigger, now)
	fits = true
	var over []string
	for i, condition := range l.Triggers[trigger] {
		if condition.When == "" || condition.Err != nil || !condition.OfStates(trigger) {
			continue
		}
		met, err := condition.Met(ctx, vars, now)
		once := ""
		if met && err == nil {
			once, err = condition.Once(ctx, vars, now)
		}
		if err != nil {
			r.log.Debug("a condition counts as false", "trigger", trigger, "rollout", s.rollout.GetNamespace()+"/"+s.rollout.GetName(), "error", err)
		}
		for _, dest := range to {
			key := notified.Message{Once: once, Namespace: l.stateNamespace(), Trigger: trigger, Condition: condition.Key(i), To: dest}.Key()
			at := recorded{s.rollout, key}
			switch {
			case met && !r.was(at):
				fits = r.send(delivery{subject: s, config: l, trigger: trigger, condition: condition, to: dest, key: key, in: []recorded{at}}) && fits
			case !met && r.was(at):
				over = append(over, key)
			}
		}
	}
	return fits, r.forget(ctx, s, over)
}

// forget moves what is no longer so into the record of what is over, for it to be reported when it is so again.
func (r *rollouts) forget(ctx context.Context, s *subject, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	for _, key := range keys {
		r.memory.forget(s.rollout.GetUID(), key)
	}
	now := r.clock.Now()
	return r.annotate(ctx, s.rollout, map[string]func(notified.State){
		notified.Annotation: func(state notified.State) {
			for _, key := range keys {
				delete(state, key)
			}
		},
		notified.Before: func(state notified.State) {
			state.Drop(now.Add(-r.maxAge))
			for _, key := range keys {
				state[key] = now.UnixMilli()
			}
		},
	})
}
