package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// errBehind says that a cache does not show this controller's own last write yet.
var errBehind = errors.New("the cache is behind this controller's own writes")

// missingFor is how long an object that was written may be absent from the cache before it is asked for by name: somebody may
// have deleted it before the cache ever saw it.
const missingFor = 2 * time.Second

// ownerIndex is the cache index of ReplicaSets by the UID of the Rollout that controls them.
const ownerIndex = "controller-uid"

func indexOwner(obj client.Object) []string {
	owner := metav1.GetControllerOfNoCopy(obj)
	if owner == nil || owner.Kind != v1alpha1.KindRollout {
		return nil
	}
	return []string{string(owner.UID)}
}

// observe reads what a decision about the Rollout depends on.
func (r *Rollouts) observe(ctx context.Context, key types.NamespacedName) (plan.Observed, error) {
	var rollout v1alpha1.Rollout
	if err := r.client.Get(ctx, key, &rollout); err != nil {
		return plan.Observed{}, err
	}
	var sets appsv1.ReplicaSetList
	err := r.client.List(ctx, &sets, client.InNamespace(key.Namespace),
		client.MatchingFields{ownerIndex: string(rollout.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return plan.Observed{}, fmt.Errorf("list the ReplicaSets of %s: %w", key, err)
	}
	seen := plan.Observed{Now: r.clock.Now(), Rollout: &rollout}
	versions := map[types.UID]string{rollout.UID: rollout.ResourceVersion}
	for i := range sets.Items {
		set := &sets.Items[i]
		seen.ReplicaSets = append(seen.ReplicaSets, set)
		versions[set.UID] = set.ResourceVersion
	}
	if err := r.observeServices(ctx, &seen, versions); err != nil {
		return plan.Observed{}, err
	}
	for uid, w := range r.sent.unseen(key, versions) {
		if err := r.lookFor(ctx, key, uid, w, seen.Now); err != nil {
			return plan.Observed{}, err
		}
	}
	return seen, nil
}

// lookFor deals with a write that the cache does not show. It will, unless the object is gone again.
func (r *Rollouts) lookFor(ctx context.Context, key types.NamespacedName, uid types.UID, w write, now time.Time) error {
	if now.Sub(w.at) < missingFor {
		return errBehind
	}
	live := reflect.New(reflect.TypeOf(w.object).Elem()).Interface().(client.Object)
	err := r.live.Get(ctx, client.ObjectKeyFromObject(w.object), live)
	switch {
	case apierrors.IsNotFound(err), err == nil && live.GetUID() != uid:
		r.sent.forgetWrite(key, uid)
		return nil
	case err != nil:
		return fmt.Errorf("look for %s, which was written and is not seen: %w", client.ObjectKeyFromObject(w.object), err)
	}
	return errBehind
}
