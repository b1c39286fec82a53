package controller

import (
	"context"
	"errors"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// longestLabeling is when a pass leaves the rest of its labels to the next one. There may be hundreds, and --qps may have each wait.
const longestLabeling = longestPass / 2

// label applies a plan's changes to pods. Each is independent: one that fails does not stop the rest. A refusal by the API
// server is not an error of this process: the engine sees it immediately and decides what it means.
func (r *RolloutReconciler) label(ctx context.Context, seen plan.Observed, p *plan.Plan) error {
	key := client.ObjectKeyFromObject(seen.Rollout)
	var failures []error
	until := seen.Now.Add(longestLabeling)
	for _, made := range p.Label {
		if r.clock.Now().After(until) {
			p.Wake = seen.Now
			break
		}
		err := r.change(ctx, seen.Rollout, made)
		update, ok := made.(change.UpdatePod)
		switch {
		case !ok:
			failures = append(failures, err)
		case refused(err) || apierrors.IsInternalError(err): // the latter is a webhook that does not answer
			r.memory.refused(key, refusedPods, update.From.Name, change.Refusal{Message: apiMessage(err), At: seen.Now})
			p.Wake = seen.Now
		default:
			r.memory.accepted(key, refusedPods, update.From.Name)
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// apiMessage is what the API server said, without what this process says around it.
func apiMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

// refusable are the kinds of objects of which it is remembered that the API server did not change them. After a restart they are found out again.
type refusable int

const (
	refusedPods refusable = iota
	// refusedRoutes are objects of traffic routers that it did not release.
	refusedRoutes
	// refusedWrites are objects of traffic routers that it did not write.
	refusedWrites
	refusableKinds
)

// forgetRefusals is after how long an object that nobody has tried to change since is forgotten: it is gone.
const forgetRefusals = 10 * time.Minute

// refusals are those of an owner's objects, by their names.
func (m *memory) refusals(owner types.NamespacedName, kind refusable) (all map[string]change.Refusal) {
	m.of(owner, func(r *recollection) { all = maps.Clone(r.refused[kind]) })
	return all
}

// refused notes that the API server did not change an object.
func (m *memory) refused(owner types.NamespacedName, kind refusable, name string, refusal change.Refusal) {
	m.of(owner, func(r *recollection) {
		if r.refused[kind] == nil {
			r.refused[kind] = map[string]change.Refusal{}
		}
		maps.DeleteFunc(r.refused[kind], func(_ string, old change.Refusal) bool { return refusal.At.Sub(old.At) > forgetRefusals })
		r.refused[kind][name] = refusal
	})
}

// accepted notes that it did.
func (m *memory) accepted(owner types.NamespacedName, kind refusable, name string) {
	m.of(owner, func(r *recollection) { delete(r.refused[kind], name) })
}
