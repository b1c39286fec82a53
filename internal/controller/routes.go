package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/plugin"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

const (
	// routeIndex is the cache index of Rollouts by the objects that their traffic routers read and write.
	routeIndex = "routes"
	// routeOwnerIndex is the cache index of such objects by the Rollouts that have put something into them.
	routeOwnerIndex = "route-owners"
)

// anyName stands in the index for objects that are found by their labels: it is no name.
const anyName = "*"

func routeKey(gk schema.GroupKind, namespace, name string) string {
	return gk.String() + "/" + namespace + "/" + name
}

func indexRoutes(obj client.Object) []string {
	var keys []string
	for _, ref := range routers.Refs(obj.(*v1alpha1.Rollout)) {
		keys = append(keys, routeKey(ref.GroupKind(), ref.Namespace, ref.Name))
	}
	for _, s := range routers.Selections(obj.(*v1alpha1.Rollout)) {
		keys = append(keys, routeKey(s.GroupKind(), s.Namespace, anyName))
	}
	return keys
}

// indexOwners has those too that may not use the object, or whose consent is kept elsewhere: who asks looks at that.
func indexOwners(obj client.Object) []string {
	o, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	var keys []string
	for _, owner := range routers.Owners(o, spec.AllowAll()) {
		keys = append(keys, owner.String())
	}
	return keys
}

// routes reads the objects of traffic routers. A kind is watched from the first Rollout on that names an object of it: which routers a
// cluster has is its own affair.
type routes struct {
	cache cache.Cache
	// live reads what is not worth a watch, in this namespace or, without one, in all.
	live      client.Reader
	namespace string
	policy    spec.Policy
	mapper    meta.RESTMapper
	log       *slog.Logger
	// watch adds a handler for all objects of a kind.
	watch func(cache.Cache, client.Object, handler.EventHandler) error
	// concerned are the Rollouts to look at when an object changes, and granted when a ReferenceGrant does.
	concerned, granted handler.MapFunc

	mu sync.Mutex
	// watched are the kinds with a watch, filled those of them whose objects are in the cache. A kind that the controller
	// may not list is never filled.
	watched, filled []schema.GroupVersionKind

	search search
	grants *grants
}

// follow starts a watch for objects of a kind, and reports whether the cluster has that kind.
func (r *routes) follow(ctx context.Context, gvk schema.GroupVersionKind) (known bool, err error) {
	return r.followBy(ctx, gvk, routeOwnerIndex, indexOwners, r.concerned)
}

func (r *routes) followBy(ctx context.Context, gvk schema.GroupVersionKind, index string, values client.IndexerFunc, concerned handler.MapFunc) (known bool, err error) {
	if r.follows(gvk) {
		return true, nil
	}
	if known, err := r.knows(gvk); err != nil || !known { // asked before the lock, since a cluster may not answer
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.watched, gvk) {
		return true, nil
	}
	object := emptyOf(gvk)
	if err := r.cache.IndexField(ctx, object, index, values); err != nil {
		return false, fmt.Errorf("index %ss: %w", gvk.Kind, err)
	}
	if err := r.watch(r.cache, object, handler.EnqueueRequestsFromMapFunc(concerned)); err != nil {
		return false, fmt.Errorf("watch %ss: %w", gvk.Kind, err)
	}
	r.watched = append(r.watched, gvk)
	return true, nil
}

// follows reports whether objects of a kind are watched.
func (r *routes) follows(gvk schema.GroupVersionKind) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.watched, gvk)
}

// knows reports whether the cluster has a kind of objects in namespaces. One that is cluster-scoped belongs to nobody who may write Rollouts, and a
// request for it with a namespace would be answered.
func (r *routes) knows(gvk schema.GroupVersionKind) (bool, error) {
	found, err := r.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask the cluster for %s: %w", gvk, err)
	}
	return found.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

func emptyOf(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	return o
}

func listOf(gvk schema.GroupVersionKind) schema.GroupVersionKind {
	return gvk.GroupVersion().WithKind(gvk.Kind + "List")
}

// isFilled notes that the cache has the objects of a kind.
func (r *routes) isFilled(gvk schema.GroupVersionKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.filled, gvk) {
		r.filled = append(r.filled, gvk)
	}
}

// kinds are those whose objects the cache has.
func (r *routes) kinds() []schema.GroupVersionKind {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.filled)
}

// get reads an object from the cache, nil if there is none. The notes of the Gateway API plugin are read live: to watch them would be to
// hold all ConfigMaps, which the controller may not even list.
func (r *routes) get(ctx context.Context, key traffic.Key) (*unstructured.Unstructured, error) {
	if isReadLive(key.Kind) {
		return readRoute(ctx, r.live, key)
	}
	if err := r.mayRead(ctx, key.GroupVersionKind); err != nil {
		return nil, err
	}
	if known, err := r.follow(ctx, key.GroupVersionKind); !known {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	object, err := readRoute(ctx, r.cache, key)
	if err == nil {
		r.isFilled(key.GroupVersionKind)
	}
	return object, err
}

// mayRead returns an error with the remedy where the controller lacks the right to list a kind. Without it a cache would never be filled, and each
// reconcile would wait for that.
func (r *routes) mayRead(ctx context.Context, gvk schema.GroupVersionKind) error {
	if slices.Contains(r.kinds(), gvk) {
		return nil
	}
	if known, err := r.knows(gvk); err != nil || !known {
		return err
	}
	var page metav1.PartialObjectMetadataList
	page.SetGroupVersionKind(listOf(gvk))
	if err := r.live.List(ctx, &page, client.InNamespace(r.namespace), client.Limit(1)); apierrors.IsForbidden(err) {
		return noRights{fmt.Errorf("cannot read objects of the kind %s: %w: %s", gvk.Kind, err, routers.Rights(gvk))}
	}
	return nil
}

// noRights is why a router's objects cannot be read or written: the controller's role lacks them.
type noRights struct{ error }

func (n noRights) Unwrap() error { return n.error }

// tellNoRights has the status say which right is missing, if it is one, and returns what went wrong.
func (r *RolloutReconciler) tellNoRights(ctx context.Context, ro *v1alpha1.Rollout, err error) error {
	var lacks noRights
	if !errors.As(err, &lacks) {
		return err
	}
	rec := plan.Withheld(ro, v1alpha1.RolloutPhaseDegraded, v1alpha1.EventTrafficRoutingError+": "+err.Error())
	if rec == nil {
		return err
	}
	if failed := r.record(ctx, *rec); failed != nil {
		return failed
	}
	r.meters.Updated(&rec.From.Status, &rec.To.Status)
	r.events.Event(ro, corev1.EventTypeWarning, v1alpha1.EventTrafficRoutingError, clean.Text(err.Error()))
	return err
}

// isReadLive reports whether objects of a kind are never cached.
func isReadLive(kind string) bool { return kind == "ConfigMap" || kind == plugin.Kind.Kind }

// ownedBy are the cached objects into which a Rollout has put something, and that it may use as far as the policy tells.
func (r *routes) ownedBy(ctx context.Context, rollout types.NamespacedName, policy spec.Policy) ([]*unstructured.Unstructured, error) {
	var owned []*unstructured.Unstructured
	for _, gvk := range r.kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(listOf(gvk))
		if err := r.cache.List(ctx, list, client.MatchingFields{routeOwnerIndex: rollout.String()}); err != nil {
			return nil, fmt.Errorf("list the %ss of %s: %w", gvk.Kind, rollout, err)
		}
		for i := range list.Items {
			if slices.Contains(routers.Owners(&list.Items[i], policy), rollout) {
				owned = append(owned, &list.Items[i])
			}
		}
	}
	return owned, nil
}

// readRoute reads an object, nil if there is none.
func readRoute(ctx context.Context, reader client.Reader, key traffic.Key) (*unstructured.Unstructured, error) {
	object := emptyOf(key.GroupVersionKind)
	err := reader.Get(ctx, key.NamespacedName, object)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil //nolint:nilnil // what is missing is data: the engine reports it
	case err != nil:
		return nil, fmt.Errorf("read %s %s, which splits traffic (may the controller get, list and watch its kind?): %w", key.Kind, key.NamespacedName, err)
	}
	return object, nil
}

// observeRoutes adds the objects of the Rollout's traffic routers, and those into which they have put something before.
func (r *RolloutReconciler) observeRoutes(ctx context.Context, seen *plan.Observed, versions map[types.UID]string) error {
	seen.Routes = traffic.Objects{}
	seen.Policy.Unserved = nil
	if err := r.routes.selectFor(ctx, seen); err != nil {
		return err
	}
	for _, ref := range routers.RefsWith(seen.Rollout, seen.Policy) {
		if ref.GroupVersionKind == plugin.Kind {
			r.addPlugin(seen.Routes, ref, seen.Rollout)
			continue
		}
		object, err := r.routes.get(ctx, ref.Key())
		if err != nil {
			return err
		}
		if object != nil {
			seen.Routes[ref.Key()] = object
		} else if !isReadLive(ref.Kind) && !r.routes.follows(ref.GroupVersionKind) {
			seen.Policy.Unserved = append(seen.Policy.Unserved, ref.GroupKind())
		}
	}
	if err := r.preferBinary(seen); err != nil {
		return err
	}
	r.plugins.note(seen.Rollout)
	for _, object := range r.plugins.left(seen.Rollout) {
		seen.Routes[traffic.KeyOf(object)] = object
	}
	elsewhere := world.Elsewhere(seen.Rollout)
	var err error
	if seen.Policy.Consents, err = r.routes.consents(ctx, seen.Rollout.Namespace, namespacesElsewhere(seen.Rollout, elsewhere), seen.Now); err != nil {
		return err
	}
	owned, err := r.routes.ownedBy(ctx, client.ObjectKeyFromObject(seen.Rollout), seen.Policy)
	if err != nil {
		return err
	}
	named := uidsOf(seen.Routes)
	for _, object := range owned {
		key := traffic.KeyOf(object)
		if named[object.GetUID()] && seen.Routes[key] == nil {
			continue // in another version, which another Rollout names
		}
		if key.Namespace == seen.Rollout.Namespace || elsewhere[key] {
			seen.Routes[key] = object
		}
	}
	for key, object := range seen.Routes {
		if key.GroupVersionKind == plugin.Kind {
			continue // no API server has it
		}
		versions[object.GetUID()] = object.GetResourceVersion()
	}
	return nil
}

// uidsOf are those of the objects that have some.
func uidsOf(objects traffic.Objects) map[types.UID]bool {
	all := map[types.UID]bool{}
	for _, o := range objects {
		if uid := o.GetUID(); uid != "" {
			all[uid] = true
		}
	}
	return all
}

// lookAtRoutes reads the objects of the Rollout's traffic routers from the API server.
func (r *RolloutReconciler) lookAtRoutes(ctx context.Context, seen *plan.Observed) error {
	live := maps.Clone(seen.Routes) // those that the Rollout does not name any more carry nothing of its
	for _, ref := range routers.RefsWith(seen.Rollout, seen.Policy) {
		delete(live, ref.Key())
		if ref.GroupVersionKind == plugin.Kind {
			r.addPlugin(live, ref, seen.Rollout)
			continue
		}
		object, err := readRoute(ctx, r.live, ref.Key())
		if err != nil {
			return err
		}
		if object != nil {
			live[ref.Key()] = object
		}
	}
	seen.Routes, seen.RoutesLive = live, true
	return nil
}

// addPlugin adds what is known of a plugin that splits traffic.
func (r *RolloutReconciler) addPlugin(to traffic.Objects, ref traffic.Ref, ro *v1alpha1.Rollout) {
	if object := r.plugins.object(ref.NamespacedName, ro.UID); object != nil {
		to[ref.Key()] = object
	}
}

// concernedBy are the Rollouts to look at when an object of a traffic router changes: those that name it, and those that have put
// something into it.
func (r *RolloutReconciler) concernedBy(ctx context.Context, obj client.Object) []reconcile.Request {
	o, _ := obj.(*unstructured.Unstructured)
	var naming, selecting v1alpha1.RolloutList
	kind := obj.GetObjectKind().GroupVersionKind().GroupKind()
	for name, list := range map[string]*v1alpha1.RolloutList{obj.GetName(): &naming, anyName: &selecting} {
		key := routeKey(kind, obj.GetNamespace(), name)
		if err := r.client.List(ctx, list, client.MatchingFields{routeIndex: key}, client.UnsafeDisableDeepCopy); err != nil {
			r.log.Error("find the Rollouts whose traffic an object splits", "object", key, "error", err)
			return nil
		}
	}
	var requests []reconcile.Request
	add := func(key types.NamespacedName) {
		if request := (reconcile.Request{NamespacedName: key}); !slices.Contains(requests, request) {
			requests = append(requests, request)
		}
	}
	for i := range naming.Items {
		add(client.ObjectKeyFromObject(&naming.Items[i]))
	}
	if o == nil {
		return requests
	}
	for i := range selecting.Items { // of a change there are two calls, one with the labels from before
		if slices.ContainsFunc(routers.Selections(&selecting.Items[i]), func(s traffic.Selection) bool { return s.Selects(o) }) {
			add(client.ObjectKeyFromObject(&selecting.Items[i]))
		}
	}
	for _, owner := range routers.Owners(o, r.policy) {
		add(owner)
	}
	return requests
}
