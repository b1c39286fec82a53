package controller

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// longestLabeling is when a pass leaves the rest of its labels to the next one. There may be hundreds, and --qps may have each wait.
const longestLabeling = longestPass / 2

// label carries out a plan's changes of pods. Each is for itself: one that fails is no reason to leave out the rest. What the API server
// refuses is no error of this process: the engine hears of it at once and decides what it means.
func (r *Rollouts) label(ctx context.Context, seen plan.Observed, p *plan.Plan) error {
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
			r.refusals.add(key, update.From.Name, change.Refusal{Message: apiMessage(err), At: seen.Now})
			p.Wake = seen.Now
		default:
			r.refusals.remove(key, update.From.Name)
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

// refusals remember which pods the API server did not change. After a restart they are found out again.
type refusals struct {
	mu  sync.Mutex
	all map[types.NamespacedName]map[string]change.Refusal
}

// forgetRefusals is after how long a pod that nobody has tried to change since is forgotten: it is gone.
const forgetRefusals = 10 * time.Minute

func newRefusals() *refusals {
	return &refusals{all: map[types.NamespacedName]map[string]change.Refusal{}}
}

// of are the refusals for a Rollout's pods.
func (r *refusals) of(rollout types.NamespacedName) map[string]change.Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.all[rollout])
}

func (r *refusals) add(rollout types.NamespacedName, pod string, refusal change.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.all[rollout]
	if of == nil {
		of = map[string]change.Refusal{}
		r.all[rollout] = of
	}
	maps.DeleteFunc(of, func(_ string, old change.Refusal) bool { return refusal.At.Sub(old.At) > forgetRefusals })
	of[pod] = refusal
}

func (r *refusals) remove(rollout types.NamespacedName, pod string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.all[rollout], pod); len(r.all[rollout]) == 0 {
		delete(r.all, rollout)
	}
}

// forget drops what was remembered for a Rollout that is gone.
func (r *refusals) forget(rollout types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, rollout)
}
