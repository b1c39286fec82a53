package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

const (
	// grantIndex is the cache index of ReferenceGrants by the namespaces to whose Rollouts they allow something, and elsewhereIndex that of
	// Rollouts by the other namespaces whose grants concern them.
	grantIndex, elsewhereIndex = "rollouts-of", "routes-in"
	// consentFor is how long the ReferenceGrants of a namespace are remembered if they are not watched, and consentRetry how
	// soon a Rollout that depends on them is requeued in that case.
	consentFor, consentRetry = 10 * time.Second, 30 * time.Second
	// mostForeign is in how many other namespaces grants are looked for on behalf of one Rollout, and mostGrants how many there.
	mostForeign, mostGrants = 5, 200
	// mostRemembered is of how many namespaces grants are remembered.
	mostRemembered = 1000
)

var grantGVK = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1beta1", Kind: "ReferenceGrant"}

// grants remember what the ReferenceGrants of namespaces say about Rollouts, where the cache does not have them: it is not filled yet, or the
// controller may list them and not watch them, as an older role has it.
type grants struct {
	mu    sync.Mutex
	known map[string]granted
}

type granted struct {
	at       time.Time
	consents []spec.RouteConsent
}

func newGrants() *grants { return &grants{known: map[string]granted{}} }

// of are the consents in a namespace that are remembered.
func (g *grants) of(namespace string, now time.Time) (consents []spec.RouteConsent, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	have, ok := g.known[namespace]
	return have.consents, ok && now.Sub(have.at) < consentFor && !now.Before(have.at)
}

func (g *grants) remember(namespace string, consents []spec.RouteConsent, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) >= mostRemembered {
		clear(g.known)
	}
	g.known[namespace] = granted{now, consents}
}

// consents are what the owners of routes in other namespaces allow the Rollouts of one, by ReferenceGrants. Where the cluster has no such kind,
// or the controller may not list it, there are none.
func (r *routes) consents(ctx context.Context, from string, namespaces []string, now time.Time) ([]spec.RouteConsent, error) {
	var all []spec.RouteConsent
	for _, namespace := range namespaces {
		if r.policy.AllowsRoutesIn(namespace) {
			continue
		}
		consents, err := r.consentsIn(ctx, namespace, from, now)
		if err != nil {
			return nil, err
		}
		for _, c := range consents {
			if c.From == from {
				all = append(all, c)
			}
		}
	}
	return all, nil
}

func (r *routes) consentsIn(ctx context.Context, namespace, from string, now time.Time) ([]spec.RouteConsent, error) {
	if known, err := r.followGrants(ctx); err != nil || !known {
		return nil, err
	}
	if r.hasGrants(ctx) {
		return listGrants(ctx, r.cache, namespace, client.MatchingFields{grantIndex: from}, client.UnsafeDisableDeepCopy)
	}
	if consents, ok := r.grants.of(namespace, now); ok {
		return consents, nil
	}
	consents, err := listGrants(ctx, r.live, namespace)
	if err != nil {
		return nil, err
	}
	r.grants.remember(namespace, consents, now)
	return consents, nil
}

// followGrants starts the watch of ReferenceGrants, and reports whether the cluster has that kind. A controller of one
// namespace watches only its own.
func (r *routes) followGrants(ctx context.Context) (known bool, err error) {
	if r.namespace != "" {
		return r.knows(grantGVK)
	}
	return r.followBy(ctx, grantGVK, grantIndex, indexGrants, r.granted)
}

// hasGrants reports whether the cache has all ReferenceGrants, so that changes requeue the Rollouts that depend on them.
func (r *routes) hasGrants(ctx context.Context) bool {
	if !r.follows(grantGVK) {
		return false
	}
	informer, err := r.cache.GetInformer(ctx, emptyOf(grantGVK), cache.BlockUntilSynced(false))
	return err == nil && informer.HasSynced()
}

func listGrants(ctx context.Context, from client.Reader, namespace string, options ...client.ListOption) (all []spec.RouteConsent, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(listOf(grantGVK))
	err = from.List(ctx, list, append(options, client.InNamespace(namespace), client.Limit(mostGrants))...)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list the ReferenceGrants of namespace %s: %w", namespace, err)
	}
	for i := range list.Items {
		all = append(all, consentsOf(&list.Items[i])...)
	}
	return all, nil
}

// indexGrants indexes ReferenceGrants for grantIndex.
func indexGrants(o client.Object) (namespaces []string) {
	grant, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	for _, c := range consentsOf(grant) {
		if !slices.Contains(namespaces, c.From) {
			namespaces = append(namespaces, c.From)
		}
	}
	return namespaces
}

// indexElsewhere indexes Rollouts for elsewhereIndex.
func indexElsewhere(o client.Object) []string {
	ro := o.(*v1alpha1.Rollout)
	return namespacesElsewhere(ro, world.Elsewhere(ro))
}

// grantedBy are the Rollouts to look at when a ReferenceGrant changes.
func (r *RolloutReconciler) grantedBy(ctx context.Context, grant client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, from := range indexGrants(grant) {
		var rollouts v1alpha1.RolloutList
		err := r.client.List(ctx, &rollouts, client.InNamespace(from), client.MatchingFields{elsewhereIndex: grant.GetNamespace()}, client.UnsafeDisableDeepCopy)
		if err != nil {
			r.log.ErrorContext(ctx, "find the Rollouts that a ReferenceGrant concerns", "referencegrant", client.ObjectKeyFromObject(grant).String(), "error", err)
			return nil
		}
		for i := range rollouts.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&rollouts.Items[i])})
		}
	}
	return requests
}

// referenceGrant is what matters of one.
type referenceGrant struct {
	Spec struct {
		From []end `json:"from"`
		To   []end `json:"to"`
	} `json:"spec"`
}

// end is one end of a reference: Namespace is of where it comes from, Name of what it goes to.
type end struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// consentsOf are what a ReferenceGrant says about Rollouts and routes of its namespace. One that does not decode says nothing.
func consentsOf(object *unstructured.Unstructured) (all []spec.RouteConsent) {
	var grant referenceGrant
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &grant); err != nil {
		return nil
	}
	for _, from := range grant.Spec.From {
		if from.Group != v1alpha1.Group || from.Kind != v1alpha1.KindRollout || from.Namespace == "" {
			continue
		}
		for _, to := range grant.Spec.To {
			if kind := (schema.GroupKind{Group: to.Group, Kind: to.Kind}); routers.WritesKind(kind) {
				all = append(all, spec.RouteConsent{From: from.Namespace, Kind: kind, Namespace: object.GetNamespace(), Name: to.Name})
			}
		}
	}
	return all
}

// namespacesElsewhere are those of routes that the Rollout names, and then of those that it has recorded, which its tenant may have written.
func namespacesElsewhere(ro *v1alpha1.Rollout, recorded map[traffic.Key]bool) []string {
	var all []string
	add := func(namespace string) {
		if namespace != ro.Namespace && !slices.Contains(all, namespace) && len(all) < mostForeign {
			all = append(all, namespace)
		}
	}
	for _, ref := range routers.Refs(ro) {
		add(ref.Namespace)
	}
	var rest []string
	for key := range recorded {
		rest = append(rest, key.Namespace)
	}
	slices.Sort(rest)
	for _, namespace := range rest {
		add(namespace)
	}
	return all
}

// waitsForConsent reports whether a Rollout names a route of another namespace that neither the operator nor an annotation lets it use, while
// ReferenceGrants are not watched.
func (r *routes) waitsForConsent(ctx context.Context, seen plan.Observed) bool {
	depends := slices.ContainsFunc(routers.Refs(seen.Rollout), func(ref traffic.Ref) bool {
		object := seen.Routes[ref.Key()]
		return ref.Namespace != seen.Rollout.Namespace && routers.Writes(ref.GroupVersionKind) && !r.policy.AllowsRoutesIn(ref.Namespace) &&
			(object == nil || !traffic.Admits(object, seen.Rollout.Namespace))
	})
	return depends && !r.hasGrants(ctx)
}

// waitsForKind reports whether a Rollout names an object of a kind that the cluster does not know, in any of the groups that the router reads it
// in: no watch tells when the kind is there.
func (r *routes) waitsForKind(ro *v1alpha1.Rollout) bool {
	known := map[string]bool{}
	for _, ref := range routers.Refs(ro) {
		at := ref.Field + ref.Kind
		known[at] = known[at] || isReadLive(ref.Kind) || r.follows(ref.GroupVersionKind)
	}
	for _, s := range routers.Selections(ro) {
		known[s.Field] = r.follows(s.GroupVersionKind)
	}
	return slices.Contains(slices.Collect(maps.Values(known)), false)
}

// ownedByGone are the cached objects into which a Rollout that is gone has put something: they alone tell in which namespaces.
func (r *routes) ownedByGone(ctx context.Context, rollout types.NamespacedName, now time.Time) ([]*unstructured.Unstructured, error) {
	all, err := r.ownedBy(ctx, rollout, spec.AllowAll())
	if err != nil {
		return nil, err
	}
	var namespaces []string
	for _, o := range all {
		if o.GetNamespace() != rollout.Namespace && !slices.Contains(namespaces, o.GetNamespace()) && len(namespaces) < mostForeign {
			namespaces = append(namespaces, o.GetNamespace())
		}
	}
	policy := r.policy
	if policy.Consents, err = r.consents(ctx, rollout.Namespace, namespaces, now); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool {
		return o.GetNamespace() != rollout.Namespace && !slices.Contains(routers.Owners(o, policy), rollout)
	}), nil
}

// earlier is the earlier of two times, of which the first may be none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
