package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

const (
	// searchAgain is when a kind is looked through again that could not be.
	searchAgain = 10 * time.Second
	// pageSize is how many objects are asked for at once.
	pageSize = 500
)

// search is for what Rollouts have put into objects of traffic routers, in kinds that no Rollout may name any more.
//
// A kind is watched from the first Rollout on that names an object of it. A Rollout whose router was changed may have left something in a
// kind that nobody names, if the process that was about to take it out has died; and so may one that is gone. So before its first pass each
// process looks once through all kinds that it does not watch: at their metadata alone, in pages. Where something is found the kind is
// watched. What comes into one later this process puts there itself. The search does not wait for that pass: where another instance has released the
// Services of a Rollout that is gone, there may be none.
type search struct {
	mu sync.Mutex
	// left are the kinds that are still to be looked through.
	left []schema.GroupVersionKind
	// granted asks for further ones; nil when they are known.
	granted func(context.Context) ([]schema.GroupVersionKind, error)
	// next is when it is tried again, in a pass over this Rollout.
	next time.Time
	by   types.NamespacedName
	// tried: passes need not wait for it any more. A kind that cannot be read must not stop the Rollouts that have nothing to do with it.
	tried atomic.Bool
}

// Search looks for what Rollouts have left in routes, again until all kinds could be looked through or passes go on with it. Caches must run.
func (r *RolloutReconciler) Search(ctx context.Context) error {
	survive(r.log, func() {
		_ = wait.PollUntilContextCancel(ctx, searchAgain, true, func(ctx context.Context) (done bool, err error) { // ends with the process, which is no error
			return r.routes.lookThrough(ctx, types.NamespacedName{}, r.clock.Now()) == 0, nil
		})
	})
	return nil
}

// lookThrough continues the search, and returns when to requeue the Rollout for it; 0 for not at all.
func (r *routes) lookThrough(ctx context.Context, rollout types.NamespacedName, now time.Time) (again time.Duration) {
	s := &r.search
	switch {
	case !s.tried.Load():
		s.mu.Lock()
	case !s.mu.TryLock():
		return 0
	}
	defer s.mu.Unlock()
	switch {
	case len(s.left) == 0 && s.granted == nil:
		return 0
	case now.Before(s.next) && rollout != s.by:
		return 0
	case now.Before(s.next):
		return s.next.Sub(now)
	}
	r.addGranted(ctx, s)
	s.left = slices.DeleteFunc(s.left, func(gvk schema.GroupVersionKind) bool {
		err := r.lookThroughKind(ctx, gvk)
		if err != nil {
			r.log.WarnContext(ctx, "cannot search for leftovers of Rollouts; retrying", "kind", gvk.Kind, "in", searchAgain.String(), "error", err)
		}
		return err == nil
	})
	s.tried.Store(true)
	if len(s.left) == 0 && s.granted == nil {
		return 0
	}
	s.next, s.by = now.Add(searchAgain), rollout
	return searchAgain
}

// addGranted adds the kinds that no list in the program has.
func (r *routes) addGranted(ctx context.Context, s *search) {
	if s.granted == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	kinds, err := s.granted(ctx)
	if err != nil {
		r.log.WarnContext(ctx, "cannot search for leftovers of Rollouts in objects of other kinds; retrying", "in", searchAgain.String(), "error", err)
		return
	}
	s.left, s.granted = append(s.left, kinds...), nil
}

// lookThroughKind has a kind followed if a Rollout has put something into an object of it. One that the cluster does not know, or that this
// controller may not list, has nothing that it could take out.
func (r *routes) lookThroughKind(ctx context.Context, gvk schema.GroupVersionKind) error {
	ctx, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	if slices.Contains(r.kinds(), gvk) {
		return nil
	}
	if known, err := r.knows(gvk); err != nil || !known {
		return err
	}
	found, err := r.holdsAny(ctx, gvk)
	switch {
	case apierrors.IsForbidden(err), meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("list %ss: %w", gvk.Kind, err)
	case !found:
		return nil
	}
	if _, err := r.follow(ctx, gvk); err != nil {
		return err
	}
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(listOf(gvk))
	if err := r.cache.List(ctx, all, client.Limit(1)); err != nil { // waits until the cache is filled
		return fmt.Errorf("list %ss: %w", gvk.Kind, err)
	}
	r.isFilled(gvk)
	return nil
}

// holdsAny reports whether a Rollout has put something into any object of a kind.
func (r *routes) holdsAny(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	var page metav1.PartialObjectMetadataList
	page.SetGroupVersionKind(listOf(gvk))
	for {
		err := r.live.List(ctx, &page, client.InNamespace(r.namespace), client.Limit(pageSize), client.Continue(page.Continue))
		if err != nil {
			return false, err
		}
		for i := range page.Items {
			object := emptyOf(gvk)
			object.SetNamespace(page.Items[i].Namespace)
			object.SetAnnotations(page.Items[i].Annotations)
			object.SetOwnerReferences(page.Items[i].OwnerReferences)
			if len(routers.Owners(object, r.policy)) > 0 {
				return true, nil
			}
		}
		if page.Continue == "" {
			return false, nil
		}
	}
}
