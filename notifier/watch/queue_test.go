package watch

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Events that were there when the notifier started have their turn, although there is always another one that is reconciled again.
func TestWhatWasThereAtTheStartHasItsTurn(t *testing.T) {
	q := newQueue("events", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)).(priorityqueue.PriorityQueue[reconcile.Request])
	t.Cleanup(q.ShutDown)
	request := func(namespace, name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	}
	before, crowded := request("shop", "before"), []reconcile.Request{request("shop", "a"), request("shop", "b"), request("other", "a")}
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, before)
	q.AddWithOpts(priorityqueue.AddOpts{}, crowded...)
	for range 100 {
		r, _ := q.Get()
		q.Done(r)
		if r == before {
			return
		}
		q.Add(r)
	}
	t.Error("a hundred others came first")
}
