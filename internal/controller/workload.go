package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// workloadIndex is the cache index of Rollouts by the kind and name of what their workloadRef refers to.
const workloadIndex = "workload"

// firstLook is how long the first look at a kind may take, in which all objects of it are read. Longer means that they cannot be.
const firstLook = 20 * time.Second

// indexWorkload indexes Rollouts for workloadIndex.
func indexWorkload(obj client.Object) []string {
	ref := obj.(*v1alpha1.Rollout).Spec.WorkloadRef
	if ref == nil {
		return nil
	}
	kind, ok := spec.WorkloadKind(ref)
	if !ok {
		return nil
	}
	return []string{workloadKey(kind, ref.Name)}
}

func workloadKey(kind spec.Kind, name string) string { return string(kind) + "/" + name }

// workloads reads what Rollouts refer to. A kind is watched from the first Rollout on that refers to an object of it: most clusters
// have many Deployments, and no Rollout that cares.
type workloads struct {
	// main caches Deployments and PodTemplates. It has only the ReplicaSets of Rollouts, so others are in a cache of their own.
	main, sets cache.Cache
	// watch adds a handler for all objects of a kind.
	watch func(cache.Cache, client.Object, handler.EventHandler) error
	// referring are the Rollouts that refer to an object of a kind.
	referring func(kind spec.Kind) handler.MapFunc

	mu      sync.Mutex
	watched map[spec.Kind]bool
}

// referredSets adds to the manager a cache of ReplicaSets to which workloadRefs refer.
func referredSets(mgr manager.Manager, o Options) (cache.Cache, error) {
	options := cache.Options{
		HTTPClient:       mgr.GetHTTPClient(),
		Scheme:           mgr.GetScheme(),
		Mapper:           mgr.GetRESTMapper(),
		DefaultTransform: onlyTemplate,
	}
	if o.Namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	sets, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("set up the cache of referenced ReplicaSets: %w", err)
	}
	if err := mgr.Add(startedWithCaches{sets}); err != nil {
		return nil, fmt.Errorf("set up the cache of referenced ReplicaSets: %w", err)
	}
	return sets, nil
}

// startedWithCaches is a cache that a manager starts together with its own.
type startedWithCaches struct{ cache.Cache }

// GetCache is by what a manager knows a cache.
func (c startedWithCaches) GetCache() cache.Cache { return c.Cache }

// onlyTemplate drops from an object, before it is kept in memory, what has nothing to do with the pods that it describes.
func onlyTemplate(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
		o.SetAnnotations(nil)
		o.SetLabels(nil)
	}
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Status = appsv1.DeploymentStatus{}
	case *appsv1.ReplicaSet:
		o.Status = appsv1.ReplicaSetStatus{}
	}
	return obj, nil
}

// of returns an empty object of a kind, and the cache that has those.
func (w *workloads) of(kind spec.Kind) (client.Object, cache.Cache) {
	switch kind {
	case spec.Deployment:
		return &appsv1.Deployment{}, w.main
	case spec.PodTemplate:
		return &corev1.PodTemplate{}, w.main
	case spec.ReplicaSet:
		return &appsv1.ReplicaSet{}, w.sets
	}
	panic("workload of unknown kind " + kind) // the sum is closed
}

// get reads a workload. That there is none of that name is an error which apierrors.IsNotFound tells.
func (w *workloads) get(ctx context.Context, kind spec.Kind, key types.NamespacedName) (client.Object, error) {
	obj, from := w.of(kind)
	if err := w.follow(kind); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	if err := from.Get(ctx, key, obj); err != nil {
		return nil, fmt.Errorf("read %s %s, which a workloadRef refers to (may the controller get, list and watch its kind?): %w", kind, key, err)
	}
	return obj, nil
}

// follow starts a watch for objects of a kind.
func (w *workloads) follow(kind spec.Kind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watched[kind] {
		return nil
	}
	obj, from := w.of(kind)
	if err := w.watch(from, obj, handler.EnqueueRequestsFromMapFunc(w.referring(kind))); err != nil {
		return fmt.Errorf("watch %ss: %w", kind, err)
	}
	w.watched[kind] = true
	return nil
}

// referring returns a function that finds the Rollouts to look at when an object of a kind changes.
func (r *RolloutReconciler) referring(kind spec.Kind) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		var rollouts v1alpha1.RolloutList
		err := r.client.List(ctx, &rollouts, client.InNamespace(obj.GetNamespace()),
			client.MatchingFields{workloadIndex: workloadKey(kind, obj.GetName())}, client.UnsafeDisableDeepCopy)
		if err != nil {
			r.log.Error("find the Rollouts that refer to a workload", "kind", kind, "name", client.ObjectKeyFromObject(obj), "error", err)
			return nil
		}
		var requests []reconcile.Request
		for i := range rollouts.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&rollouts.Items[i])})
		}
		return requests
	}
}

// observeWorkload adds what the Rollout's workloadRef refers to.
func (r *RolloutReconciler) observeWorkload(ctx context.Context, seen *plan.Observed, versions map[types.UID]string) error {
	ref := seen.Rollout.Spec.WorkloadRef
	if ref == nil {
		return nil
	}
	kind, ok := spec.WorkloadKind(ref)
	if !ok {
		return nil
	}
	obj, err := r.workloads.get(ctx, kind, types.NamespacedName{Namespace: seen.Rollout.Namespace, Name: ref.Name})
	if apierrors.IsNotFound(err) {
		return nil // the engine's business
	}
	if err != nil {
		return err
	}
	seen.Workload = obj
	versions[obj.GetUID()] = obj.GetResourceVersion()
	return nil
}

// scaleWorkload changes a Deployment's size through its scale subresource: the controller has no right to change anything else.
func (r *RolloutReconciler) scaleWorkload(ctx context.Context, rollout *v1alpha1.Rollout, c change.ScaleWorkload) error {
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: c.From.Name, Namespace: c.From.Namespace, ResourceVersion: c.From.ResourceVersion},
		Spec:       autoscalingv1.ScaleSpec{Replicas: *c.To.Spec.Replicas},
	}
	err := r.client.SubResource("scale").Update(ctx, c.To.DeepCopy(), client.WithSubResourceBody(scale))
	to := c.To.DeepCopy()
	to.ResourceVersion = scale.ResourceVersion
	if r.answered(rollout, c.From, to, err); err != nil {
		return fmt.Errorf("scale Deployment %s: %w", c.From.Name, err)
	}
	return nil
}
