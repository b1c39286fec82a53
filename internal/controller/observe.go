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
	if err := r.observeAnalyses(ctx, &seen, versions); err != nil {
		return plan.Observed{}, err
	}
	if err := r.observeServices(ctx, &seen, versions); err != nil {
		return plan.Observed{}, err
	}
	if err := r.observeWorkload(ctx, &seen, versions); err != nil {
		return plan.Observed{}, err
	}
	for uid, w := range r.sent.unseen(key, versions) {
		if err := r.lookFor(ctx, key, uid, w, seen.Now); err != nil {
			return plan.Observed{}, err
		}
	}
	return seen, nil
}

// lookFor deals with a write that what was observed does not show. The cache may show it all the same, for an object that is of
// no more concern; or it will, unless the object is gone again.
func (r *Rollouts) lookFor(ctx context.Context, key types.NamespacedName, uid types.UID, w write, now time.Time) error {
	cached, there, err := read(ctx, r.client, w.object)
	if err != nil {
		return err
	}
	if w.shownBy(cached.GetResourceVersion(), there && cached.GetUID() == uid) {
		r.sent.forgetWrite(key, uid)
		return nil
	}
	if now.Sub(w.at) < missingFor {
		return errBehind
	}
	live, there, err := read(ctx, r.live, w.object)
	if err != nil {
		return err
	}
	if !there || live.GetUID() != uid {
		r.sent.forgetWrite(key, uid)
		return nil
	}
	return errBehind
}

// read reads an object of the same kind and name as another one.
func read(ctx context.Context, reader client.Reader, like client.Object) (obj client.Object, there bool, err error) {
	obj = reflect.New(reflect.TypeOf(like).Elem()).Interface().(client.Object)
	err = reader.Get(ctx, client.ObjectKeyFromObject(like), obj)
	if apierrors.IsNotFound(err) {
		return obj, false, nil
	}
	if err != nil {
		return obj, false, fmt.Errorf("look for %s, which was written and is not seen: %w", client.ObjectKeyFromObject(like), err)
	}
	return obj, true, nil
}
