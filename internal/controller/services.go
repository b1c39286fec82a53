package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/spec"
)

const (
	// serviceIndex is the cache index of Rollouts by the Services that they name.
	serviceIndex = "services"
	// managerIndex is the cache index of Services by the Rollout that they are marked with.
	managerIndex = "managed-by"
)

// servicesOf are the names of the Services that a Rollout names.
func servicesOf(ro *v1alpha1.Rollout) []string {
	var names []string
	for _, ref := range spec.Services(ro) {
		names = append(names, ref.Name)
	}
	return names
}

func indexServices(obj client.Object) []string { return servicesOf(obj.(*v1alpha1.Rollout)) }

func indexManager(obj client.Object) []string {
	if manager := obj.GetAnnotations()[v1alpha1.ManagedByAnnotation]; manager != "" {
		return []string{manager}
	}
	return nil
}

// observeServices adds the Services that the Rollout names, or that are marked as its own.
func (r *RolloutReconciler) observeServices(ctx context.Context, seen *plan.Observed, versions map[types.UID]string) error {
	namespace := client.InNamespace(seen.Rollout.Namespace)
	var managed corev1.ServiceList
	err := r.client.List(ctx, &managed, namespace, client.MatchingFields{managerIndex: seen.Rollout.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list the Services of %s: %w", seen.Rollout.Name, err)
	}
	for i := range managed.Items {
		seen.Services = append(seen.Services, &managed.Items[i])
	}
	for _, name := range servicesOf(seen.Rollout) {
		if slices.ContainsFunc(seen.Services, func(s *corev1.Service) bool { return s.Name == name }) {
			continue
		}
		if err := addService(ctx, r.client, seen, name); err != nil {
			return err
		}
	}
	for _, s := range seen.Services {
		versions[s.UID] = s.ResourceVersion
	}
	return nil
}

// lookAtRouting reads from the API server what routes traffic.
func (r *RolloutReconciler) lookAtRouting(ctx context.Context, seen *plan.Observed) error {
	if !seen.ServicesLive {
		if err := r.lookAtServices(ctx, seen); err != nil {
			return err
		}
	}
	return r.lookAtRoutes(ctx, seen)
}

// lookAtServices reads the Services from the API server.
func (r *RolloutReconciler) lookAtServices(ctx context.Context, seen *plan.Observed) error {
	names := servicesOf(seen.Rollout)
	for _, s := range seen.Services {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	seen.Services = nil
	for _, name := range names {
		if err := addService(ctx, r.live, seen, name); err != nil {
			return err
		}
	}
	seen.ServicesLive = true
	return nil
}

// addService adds a Service to what is seen. One that is missing is the engine's business.
func addService(ctx context.Context, reader client.Reader, seen *plan.Observed, name string) error {
	var service corev1.Service
	err := reader.Get(ctx, client.ObjectKey{Namespace: seen.Rollout.Namespace, Name: name}, &service)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read service %s: %w", name, err)
	}
	seen.Services = append(seen.Services, &service)
	return nil
}

// rolloutsOf are the Rollouts to look at when a Service changes: those that name it, and the one it is marked with.
func (r *RolloutReconciler) rolloutsOf(ctx context.Context, service client.Object) []reconcile.Request {
	var naming v1alpha1.RolloutList
	err := r.client.List(ctx, &naming, client.InNamespace(service.GetNamespace()), client.MatchingFields{serviceIndex: service.GetName()})
	if err != nil {
		r.log.Error("find the Rollouts that name a service", "service", client.ObjectKeyFromObject(service), "error", err)
		return nil
	}
	var requests []reconcile.Request
	for i := range naming.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&naming.Items[i])})
	}
	if manager := service.GetAnnotations()[v1alpha1.ManagedByAnnotation]; manager != "" {
		request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: service.GetNamespace(), Name: manager}}
		if !slices.Contains(requests, request) {
			requests = append(requests, request)
		}
	}
	return requests
}

// release gives back what a Rollout used that is gone: its Services select all its pods again, whichever controller makes them.
// Gone means that the API server says so; a cache that lacks it, or an error, is no reason to touch what carries traffic.
func (r *RolloutReconciler) release(ctx context.Context, key types.NamespacedName) error {
	var services corev1.ServiceList
	if err := r.client.List(ctx, &services, client.InNamespace(key.Namespace), client.MatchingFields{managerIndex: key.Name}); err != nil {
		return fmt.Errorf("list the Services of %s: %w", key, err)
	}
	routes, err := r.routes.ownedByGone(ctx, key, r.clock.Now())
	if err != nil {
		return err
	}
	if len(services.Items)+len(routes) == 0 {
		return nil
	}
	var rollout v1alpha1.Rollout
	if err := r.live.Get(ctx, key, &rollout); !apierrors.IsNotFound(err) {
		return err // nil: there it is, perhaps another instance's
	}
	foreign := slices.DeleteFunc(slices.Clone(routes), func(o *unstructured.Unstructured) bool { return o.GetNamespace() == key.Namespace })
	routes = slices.DeleteFunc(routes, func(o *unstructured.Unstructured) bool { return o.GetNamespace() != key.Namespace })
	elsewhere := r.releaseRoutes(ctx, key, foreign)           // whose owners may make that impossible, and hold nothing up by that
	if err := r.releaseRoutes(ctx, key, routes); err != nil { // before the Services stop telling versions apart, whose pods may outlive the Rollout
		return err
	}
	for i := range services.Items {
		from := &services.Items[i]
		to := from.DeepCopy()
		delete(to.Spec.Selector, v1alpha1.PodTemplateHashLabel)
		delete(to.Annotations, v1alpha1.ManagedByAnnotation)
		switch err := r.client.Patch(ctx, to, guarded(from)); {
		case movedOn(err): // its change leads to another pass
			continue
		case err != nil:
			return fmt.Errorf("release service %s: %w", from.Name, err)
		}
		r.log.InfoContext(ctx, "release service "+from.Name, "rollout", key.String(), "reason", "the Rollout is gone")
	}
	return elsewhere
}
