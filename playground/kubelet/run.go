package kubelet

import (
	"context"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// workers is how many pods are bound, and how many are written, at the same time; a write is mostly waiting for the disk.
const workers = 8

type queue = workqueue.TypedRateLimitingInterface[cache.ObjectName]

func newQueue(c clock.WithTicker) queue {
	limit := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](50*time.Millisecond, 5*time.Second)
	return workqueue.NewTypedRateLimitingQueueWithConfig(limit, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Clock: c})
}

// run wires nodes, kubelet and scheduler to the cluster and blocks until ctx ends.
func run(ctx context.Context, client kubernetes.Interface, o Options) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(withoutManagedFields))
	pods, nodes := factory.Core().V1().Pods(), factory.Core().V1().Nodes()
	k := newKubelet(client, pods.Lister(), nodes.Lister(), o)
	s := newScheduler(client, pods.Lister(), nodes.Lister(), o)

	podEvents := handle(pods.Informer(), func(pod *corev1.Pod, gone bool) {
		s.podEvent(pod, gone)
		if pod.Spec.NodeName != "" {
			k.queue.Add(cache.MetaObjectToName(pod))
		}
	})
	handle(nodes.Informer(), func(node *corev1.Node, _ bool) {
		s.nodeEvent()
		k.nodeEvent(node)
	})

	var wg sync.WaitGroup
	defer wg.Wait()
	defer k.queue.ShutDown()
	defer s.queue.ShutDown()
	wg.Go(func() { keepNodes(ctx, client, o) })
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), podEvents, nodes.Informer().HasSynced) {
		return
	}
	if all, err := pods.Lister().List(everything); err == nil {
		k.keepAddresses(all)
	}
	for range workers {
		wg.Go(func() { drain(ctx, k.queue, k.visit, o.Log) })
		wg.Go(func() { drain(ctx, s.queue, s.visit, o.Log) })
	}
	<-ctx.Done()
	if o.Serve != nil {
		o.Serve.KillAll()
	}
}

// withoutManagedFields drops managedFields from the caches: they take half the room and are not used here. It changes a
// copy, since the object may be shared, as with an in-memory clientset.
func withoutManagedFields(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		copied := *o
		copied.ManagedFields = nil
		return &copied, nil
	case *corev1.Node:
		copied := *o
		copied.ManagedFields = nil
		return &copied, nil
	default:
		return object, nil
	}
}

// handle calls f for each event of an informer and returns what tells that the first list was handled.
func handle[T any](informer cache.SharedIndexInformer, f func(object *T, gone bool)) cache.InformerSynced {
	call := func(object any, gone bool) {
		if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		if t, ok := object.(*T); ok {
			f(t, gone)
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { call(object, false) },
		UpdateFunc: func(_, object any) { call(object, false) },
		DeleteFunc: func(object any) { call(object, true) },
	})
	if err != nil { // Only an informer that has stopped refuses, and this one has not begun.
		utilruntime.HandleError(err)
		return informer.HasSynced
	}
	return registration.HasSynced
}

// drain visits what is in the queue until it is shut down. What fails comes again, ever later.
func drain(ctx context.Context, q queue, visit func(context.Context, cache.ObjectName) error, log *slog.Logger) {
	for {
		name, down := q.Get()
		if down {
			return
		}
		if err := visit(ctx, name); err == nil {
			q.Forget(name)
		} else if ctx.Err() == nil {
			log.Warn("simulated kubelet will try again", "error", err)
			q.AddRateLimited(name)
		}
		q.Done(name)
	}
}
