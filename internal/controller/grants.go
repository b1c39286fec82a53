package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

const (
	// consentFor is how long what ReferenceGrants of a namespace say is remembered, and consentRetry how soon a Rollout is looked at again that
	// depends on them: they are not watched, since hardly any Rollout names a route elsewhere.
	consentFor, consentRetry = 10 * time.Second, 30 * time.Second
	// mostForeign is in how many other namespaces grants are looked for on behalf of one Rollout, and mostGrants how many there.
	mostForeign, mostGrants = 5, 200
	// mostRemembered is of how many namespaces grants are remembered.
	mostRemembered = 1000
)

var grantGVK = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1beta1", Kind: "ReferenceGrant"}

// grants remember what the ReferenceGrants of namespaces say about Rollouts.
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
		consents, ok := r.grants.of(namespace, now)
		if !ok {
			var err error
			if consents, err = r.readGrants(ctx, namespace); err != nil {
				return nil, err
			}
			r.grants.remember(namespace, consents, now)
		}
		for _, c := range consents {
			if c.From == from {
				all = append(all, c)
			}
		}
	}
	return all, nil
}

func (r *routes) readGrants(ctx context.Context, namespace string) ([]spec.RouteConsent, error) {
	if _, err := r.mapper.RESTMapping(grantGVK.GroupKind(), grantGVK.Version); meta.IsNoMatchError(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("ask the cluster for %s: %w", grantGVK, err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(listOf(grantGVK))
	err := r.live.List(ctx, list, client.InNamespace(namespace), client.Limit(mostGrants))
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list the ReferenceGrants of namespace %s: %w", namespace, err)
	}
	var all []spec.RouteConsent
	for i := range list.Items {
		all = append(all, consentsOf(&list.Items[i])...)
	}
	return all, nil
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
			if to.Group == grantGVK.Group && routers.Writes(gatewayapi.GVK(to.Kind)) {
				all = append(all, spec.RouteConsent{From: from.Namespace, Kind: to.Kind, Namespace: object.GetNamespace(), Name: to.Name})
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

// dependsOnConsent reports whether a Rollout names a route of another namespace that neither the operator nor an annotation lets it use.
func (r *routes) dependsOnConsent(seen plan.Observed) bool {
	return slices.ContainsFunc(routers.Refs(seen.Rollout), func(ref traffic.Ref) bool {
		object := seen.Routes[ref.Key()]
		return ref.Namespace != seen.Rollout.Namespace && gatewayapi.Writes(ref.GroupVersionKind) && !r.policy.AllowsRoutesIn(ref.Namespace) &&
			(object == nil || !gatewayapi.Admits(object, seen.Rollout.Namespace))
	})
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
