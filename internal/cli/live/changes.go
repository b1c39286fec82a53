package live

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Changes calls changed with every object of a resource that there is or comes to be, and again whenever it changes, one call at a
// time, until ctx ends, which is reported as its error.
func Changes[T any](ctx context.Context, c Client, resource schema.GroupVersionResource, changed func(*T)) error {
	client := c.Resource(resource).Namespace(c.Namespace)
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, o)
		},
	}, c.Interface)
	see := func(obj any) {
		if t, err := typed[T](obj.(*unstructured.Unstructured)); err == nil { // what cannot be read cannot be shown
			changed(t)
		}
	}
	informer := cache.NewSharedIndexInformer(lw, &unstructured.Unstructured{}, 0, cache.Indexers{})
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, obj any) { see(obj) },
	})
	if err != nil {
		return err
	}
	informer.RunWithContext(ctx)
	return ctx.Err()
}
