package watch

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
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

// How many objects wait is a metric, as with the queue of any controller.
func TestQueuesAreMeasured(t *testing.T) {
	q := newQueue("measured", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute))
	t.Cleanup(q.ShutDown)
	q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "a"}})
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if family.GetName() == "workqueue_depth" && label.GetValue() == "measured" && m.GetGauge().GetValue() == 1 {
					return
				}
			}
		}
	}
	t.Error("workqueue_depth does not count the object that waits")
}
