package live

import (
	"context"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/view"
)

// Cache is what all viewers of a dashboard see: the Rollouts, Experiments and AnalysisRuns of one namespace or of all, with their ReplicaSets
// and pods, kept by one watch of each resource however many viewers there are.
type Cache struct {
	client Client
	// changed is called with each Rollout or Experiment that something has happened to, not at the same time for two.
	changed   func(types.NamespacedName)
	informers map[schema.GroupVersionResource]cache.SharedIndexInformer

	mu sync.Mutex
	// troubles are the resources whose last request failed, and how.
	troubles map[schema.GroupVersionResource]error
}

// ownerIndex finds objects by the UID of their controller.
const ownerIndex = "owner"

// cached are the resources of a cache, and how to read one of their objects.
var cached = map[schema.GroupVersionResource]func(*unstructured.Unstructured) any{
	Rollouts:     func(u *unstructured.Unstructured) any { return terse[v1alpha1.Rollout](u) },
	Experiments:  func(u *unstructured.Unstructured) any { return terse[v1alpha1.Experiment](u) },
	AnalysisRuns: func(u *unstructured.Unstructured) any { return terse[v1alpha1.AnalysisRun](u) },
	ReplicaSets:  func(u *unstructured.Unstructured) any { return terse[appsv1.ReplicaSet](u) },
	Pods:         func(u *unstructured.Unstructured) any { return slim(terse[corev1.Pod](u)) },
}

// NewCache watches nothing yet. The client's namespace is the one that is watched, none for all.
func NewCache(c Client, changed func(types.NamespacedName)) *Cache {
	k := &Cache{client: c, changed: changed, informers: map[schema.GroupVersionResource]cache.SharedIndexInformer{}, troubles: map[schema.GroupVersionResource]error{}}
	for resource, read := range cached {
		k.informers[resource] = k.informer(resource, read)
	}
	return k
}

// Run watches until ctx ends.
func (k *Cache) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, informer := range k.informers {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	running.Wait()
}

// Synced reports whether the Rollouts there are have been listed.
func (k *Cache) Synced() bool { return k.informers[Rollouts].HasSynced() }

// Trouble is why there may be no news of a resource, nil while there is none. It is tried again all the time.
func (k *Cache) Trouble() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, resource := range []schema.GroupVersionResource{Rollouts, ReplicaSets, Pods, AnalysisRuns, Experiments} {
		if err := k.troubles[resource]; err != nil && (resource == Rollouts || notForbidden(err) != nil) {
			return err
		}
	}
	return nil
}

// Rollouts are all of them, in no order. They must not be changed.
func (k *Cache) Rollouts() []*v1alpha1.Rollout {
	return stored[v1alpha1.Rollout](k.informers[Rollouts])
}

// Experiments are all of them, in no order. They must not be changed.
func (k *Cache) Experiments() []*v1alpha1.Experiment {
	return stored[v1alpha1.Experiment](k.informers[Experiments])
}

// AnalysisRuns are all of them, in no order. They must not be changed.
func (k *Cache) AnalysisRuns() []*v1alpha1.AnalysisRun {
	return stored[v1alpha1.AnalysisRun](k.informers[AnalysisRuns])
}

// Objects are a Rollout and what belongs to it; false if there is no such Rollout. They must not be changed.
func (k *Cache) Objects(name types.NamespacedName) (view.Objects, bool) {
	found, ok, _ := k.informers[Rollouts].GetStore().GetByKey(name.String()) // the store has no errors
	if !ok {
		return view.Objects{}, false
	}
	o := view.Objects{Rollout: found.(*v1alpha1.Rollout)}
	o.Experiments = owned[v1alpha1.Experiment](k.informers[Experiments], o.Rollout)
	o.AnalysisRuns = owned[v1alpha1.AnalysisRun](k.informers[AnalysisRuns], o.Rollout)
	k.addPods(&o, o.Rollout)
	for _, exp := range o.Experiments {
		o.AnalysisRuns = append(o.AnalysisRuns, owned[v1alpha1.AnalysisRun](k.informers[AnalysisRuns], exp)...)
		k.addPods(&o, exp)
	}
	return o, true
}

// ExperimentObjects are an Experiment and what belongs to it; false if there is no such Experiment.
func (k *Cache) ExperimentObjects(name types.NamespacedName) (view.Objects, bool) {
	found, ok, _ := k.informers[Experiments].GetStore().GetByKey(name.String()) // the store has no errors
	if !ok {
		return view.Objects{}, false
	}
	o := view.Objects{Experiment: found.(*v1alpha1.Experiment)}
	o.AnalysisRuns = owned[v1alpha1.AnalysisRun](k.informers[AnalysisRuns], o.Experiment)
	k.addPods(&o, o.Experiment)
	return o, true
}

// AnalysisRun is one of them; false if there is none of this name.
func (k *Cache) AnalysisRun(name types.NamespacedName) (*v1alpha1.AnalysisRun, bool) {
	found, ok, _ := k.informers[AnalysisRuns].GetStore().GetByKey(name.String()) // the store has no errors
	if !ok {
		return nil, false
	}
	return found.(*v1alpha1.AnalysisRun), true
}

func (k *Cache) addPods(o *view.Objects, owner metav1.Object) {
	sets := owned[appsv1.ReplicaSet](k.informers[ReplicaSets], owner)
	o.ReplicaSets = append(o.ReplicaSets, sets...)
	for _, rs := range sets {
		o.Pods = append(o.Pods, owned[corev1.Pod](k.informers[Pods], rs)...)
	}
}

func owned[T any](informer cache.SharedIndexInformer, owner metav1.Object) []*T {
	found, _ := informer.GetIndexer().ByIndex(ownerIndex, string(owner.GetUID())) // fails for unknown indexes only
	out := make([]*T, len(found))
	for i := range found {
		out[i] = found[i].(*T)
	}
	return out
}

func (k *Cache) informer(resource schema.GroupVersionResource, read func(*unstructured.Unstructured) any) cache.SharedIndexInformer {
	client := k.client.Resource(resource).Namespace(k.client.Namespace)
	versioned := func(o metav1.ListOptions) metav1.ListOptions {
		if resource == ReplicaSets || resource == Pods {
			o.LabelSelector = v1alpha1.PodTemplateHashLabel // what all versions carry
		}
		return o
	}
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := client.List(ctx, versioned(o))
			k.report(resource, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := client.Watch(ctx, versioned(o))
			k.report(resource, err)
			return w, err
		},
	}, k.client.Interface)
	informer := cache.NewSharedIndexInformer(lw, &unstructured.Unstructured{}, 0, cache.Indexers{ownerIndex: ownerOf})
	// The errors of these two can only come from an informer that has been started.
	_ = informer.SetTransform(func(obj any) (any, error) {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok { // a tombstone, or an object that has been through here
			return obj, nil
		}
		return read(u), nil
	})
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    k.tell,
		UpdateFunc: func(_, obj any) { k.tell(obj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			k.tell(obj)
		},
	})
	return informer
}

func ownerOf(obj any) ([]string, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil, nil
	}
	if owner := metav1.GetControllerOf(o); owner != nil {
		return []string{string(owner.UID)}, nil
	}
	return nil, nil
}

// tell names the Rollout or the Experiment that an object belongs to, as far up as there are owners.
func (k *Cache) tell(obj any) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return
	}
	namespace := o.GetNamespace()
	k.changed(types.NamespacedName{Namespace: namespace, Name: o.GetName()})
	for range 3 { // a pod has a ReplicaSet, that an Experiment, and that a Rollout
		owner := metav1.GetControllerOf(o)
		if owner == nil {
			return
		}
		k.changed(types.NamespacedName{Namespace: namespace, Name: owner.Name})
		var informer cache.SharedIndexInformer
		switch owner.Kind {
		case "ReplicaSet":
			informer = k.informers[ReplicaSets]
		case "Experiment":
			informer = k.informers[Experiments]
		default:
			return
		}
		found, ok, _ := informer.GetStore().GetByKey(namespace + "/" + owner.Name) // the store has no errors
		if !ok {
			return
		}
		o = found.(metav1.Object)
	}
}

// report keeps how a request ended. A watch has to be restarted once in a while, which is no problem.
func (k *Cache) report(resource schema.GroupVersionResource, err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	k.mu.Lock()
	had := k.troubles[resource] != nil
	k.troubles[resource] = err
	k.mu.Unlock()
	if had != (err != nil) {
		k.changed(types.NamespacedName{})
	}
}

// terse is an object without what nobody looks at.
func terse[T any, O interface {
	*T
	metav1.Object
}](u *unstructured.Unstructured) O {
	u.SetManagedFields(nil)
	if all := u.GetAnnotations(); all[lastApplied] != "" {
		delete(all, lastApplied)
		u.SetAnnotations(all)
	}
	t, err := typed[T](u)
	if err != nil { // an informer would lose all objects for this one
		t = new(T)
		O(t).SetNamespace(u.GetNamespace())
		O(t).SetName(u.GetName())
		O(t).SetUID(u.GetUID())
	}
	return O(t)
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// slim is a pod with the fields that are shown: a thousand rollouts have tens of thousands of them.
func slim(p *corev1.Pod) *corev1.Pod {
	bare := func(containers []corev1.Container) []corev1.Container {
		out := make([]corev1.Container, len(containers))
		for i, c := range containers {
			out[i] = corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy}
		}
		return out
	}
	out := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: p.Name, Namespace: p.Namespace, UID: p.UID, OwnerReferences: p.OwnerReferences,
			CreationTimestamp: p.CreationTimestamp, DeletionTimestamp: p.DeletionTimestamp, ResourceVersion: p.ResourceVersion,
		},
		Spec: corev1.PodSpec{Containers: bare(p.Spec.Containers), InitContainers: bare(p.Spec.InitContainers)},
		Status: corev1.PodStatus{
			Phase: p.Status.Phase, Reason: p.Status.Reason, Message: p.Status.Message,
			InitContainerStatuses: p.Status.InitContainerStatuses, ContainerStatuses: p.Status.ContainerStatuses,
		},
	}
	for _, c := range p.Status.Conditions {
		if c.Status != corev1.ConditionTrue || c.Type == corev1.PodReady {
			out.Status.Conditions = append(out.Status.Conditions, c)
		}
	}
	return out
}
