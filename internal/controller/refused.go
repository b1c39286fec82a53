package controller

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// refusedRetry is when a write that the API server refused is retried: only a correction by someone helps.
const refusedRetry = 30 * time.Second

// withheld are the writes of a pass that the API server refused for what they are: a policy, a webhook, a right that is missing. Trying again at
// once is of no use, and the rest of the plan is not to wait for it:
//
//   - the other ReplicaSets grow, and traffic moves: both follow from the pods that were observed, not from what this pass creates;
//   - of Services and routes, only the kind of which one was refused goes on. A weight may count on the Service that was written before it;
//   - analyses, and what takes pods away, wait: they count on all that comes before;
//   - the status says what was refused instead of what was planned, so no step is recorded as done.
type withheld []refusedWrite

type refusedWrite struct {
	made change.Change
	err  error
}

func (w withheld) Error() string {
	texts := make([]string, len(w))
	for i, r := range w {
		texts[i] = r.err.Error()
	}
	return strings.Join(texts, "; ")
}

// add keeps a write that was refused, and reports whether it was. The creation of an object is not among these: the engine is asked again at once.
func (w *withheld) add(made change.Change, err error) bool {
	if !refused(err) && !apierrors.IsInternalError(err) { // the latter is a webhook that does not answer
		return false
	}
	*w = append(*w, refusedWrite{made, err})
	return true
}

// keep reports whether a change must not follow on what was refused.
func (w withheld) keep(made change.Change) bool {
	for _, r := range w {
		if isService(r.made) && isRoute(made) || isRoute(r.made) && isService(made) {
			return true
		}
	}
	return false
}

func isService(made change.Change) bool { _, ok := made.(change.UpdateService); return ok }
func isRoute(made change.Change) bool   { _, ok := made.(change.WriteRoute); return ok }

// withhold records what was refused, with an event where that is news, and returns it.
func (r *RolloutReconciler) withhold(ctx context.Context, seen plan.Observed, w withheld) error {
	rec := plan.Withheld(seen.Rollout, v1alpha1.RolloutPhaseDegraded, v1alpha1.ReasonWriteRefused+": "+w.Error())
	if rec == nil {
		return w
	}
	if err := r.record(ctx, *rec); err != nil {
		return err
	}
	r.meters.Updated(&rec.From.Status, &rec.To.Status)
	r.events.Event(seen.Rollout, corev1.EventTypeWarning, v1alpha1.ReasonWriteRefused, w.Error())
	return w
}
