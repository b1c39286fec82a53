package controller

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// setAt is a ReplicaSet of this size and generation, of which its controller has read a generation and counted pods.
func setAt(size int32, generation, read int64, pods, available int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Generation: generation},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &size},
		Status:     appsv1.ReplicaSetStatus{ObservedGeneration: read, Replicas: pods, AvailableReplicas: available},
	}
}

func TestNewsOfReplicaSetsThatLeaveNothingToDecide(t *testing.T) {
	with := func(set *appsv1.ReplicaSet, change func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
		change(set)
		return set
	}
	failing := func(set *appsv1.ReplicaSet) {
		set.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure}}
	}
	noted := func(set *appsv1.ReplicaSet) { set.Annotations = map[string]string{"scale-down-deadline": "soon"} }
	going := func(set *appsv1.ReplicaSet) { set.Status.TerminatingReplicas = new(int32(1)) }
	leaving := func(set *appsv1.ReplicaSet) { set.DeletionTimestamp = &metav1.Time{} }
	for name, c := range map[string]struct {
		before, after *appsv1.ReplicaSet
		tells         bool
	}{
		"a new size is written":                 {setAt(3, 1, 1, 3, 3), setAt(2, 2, 1, 3, 3), false},
		"it is read, and a pod is to go":        {setAt(2, 2, 1, 3, 3), setAt(2, 2, 2, 3, 3), false},
		"the pod is gone":                       {setAt(2, 2, 2, 3, 3), setAt(2, 2, 2, 2, 2), true},
		"it is read, and a pod is gone at once": {setAt(2, 2, 1, 3, 3), setAt(2, 2, 2, 2, 2), true},
		"it is read, and all is as it should":   {setAt(3, 3, 2, 3, 3), setAt(3, 3, 3, 3, 3), true},
		"it is read, and pods cannot be made":   {with(setAt(4, 2, 1, 3, 3), failing), with(setAt(4, 2, 2, 3, 3), failing), true},
		"a pod is available":                    {setAt(1, 1, 1, 1, 0), setAt(1, 1, 1, 1, 1), true},
		"an annotation":                         {setAt(1, 1, 1, 1, 1), with(setAt(1, 1, 1, 1, 1), noted), true},
		"a pod that is on its way out is gone":  {with(setAt(1, 1, 1, 1, 1), going), setAt(1, 1, 1, 1, 1), false},
		"the same, with an annotation":          {with(setAt(1, 1, 1, 1, 1), going), with(setAt(1, 1, 1, 1, 1), noted), true},
		"the same, and another is available":    {with(setAt(2, 1, 1, 2, 1), going), setAt(2, 1, 1, 2, 2), true},
		"its deletion":                          {setAt(0, 1, 1, 0, 0), with(setAt(0, 2, 1, 0, 0), leaving), true},
	} {
		if tells := notOnlyTold.Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); tells != c.tells {
			t.Errorf("%s: a pass is made: %t, want %t", name, tells, c.tells)
		}
	}
	for name, c := range map[string]struct {
		created event.CreateEvent
		tells   bool
	}{
		"one that was made just now":         {event.CreateEvent{Object: setAt(1, 1, 0, 0, 0)}, false},
		"one that is there at the start":     {event.CreateEvent{Object: setAt(1, 1, 0, 0, 0), IsInInitialList: true}, true},
		"one that the cache shows only late": {event.CreateEvent{Object: setAt(1, 1, 1, 1, 1)}, true},
	} {
		if tells := notOnlyTold.Create(c.created); tells != c.tells {
			t.Errorf("%s: a pass is made: %t, want %t", name, tells, c.tells)
		}
	}
	if !notOnlyTold.Delete(event.DeleteEvent{Object: setAt(1, 1, 0, 0, 0)}) {
		t.Error("a ReplicaSet that is deleted goes unnoticed")
	}
}
