package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// notOnlyTold leaves out the first news of each change of a ReplicaSet's size: that it was written, mostly by this controller, and that
// its own controller has read it. What it does about it comes as the next news, and before that there is nothing to decide. It leaves the
// last news out as well, that pods which do not count any more are gone.
var notOnlyTold = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool {
		set, ok := e.Object.(*appsv1.ReplicaSet)
		return !ok || e.IsInInitialList || !unread(set)
	},
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*appsv1.ReplicaSet)
		after, alsoOK := e.ObjectNew.(*appsv1.ReplicaSet)
		if !ok || !alsoOK {
			return true
		}
		if before.Generation != after.Generation {
			return !unread(after)
		}
		return !onlyRead(before, after) && !onlyGone(before, after)
	},
}

// unread reports whether the ReplicaSet's controller has yet to read what it is to do. When it has, it says so in the status.
func unread(set *appsv1.ReplicaSet) bool {
	return set.Status.ObservedGeneration < set.Generation && set.DeletionTimestamp == nil
}

// onlyRead reports whether a ReplicaSet's controller has read what it is to do and not yet counted what it did, which it is about to do.
// Where it cannot make pods, it says so in a condition, and may have nothing to count for long.
func onlyRead(before, after *appsv1.ReplicaSet) bool {
	if before.Status.ObservedGeneration == after.Status.ObservedGeneration || after.DeletionTimestamp != nil ||
		after.Status.Replicas == *after.Spec.Replicas || len(after.Status.Conditions) > 0 {
		return false
	}
	status := before.Status
	status.ObservedGeneration = after.Status.ObservedGeneration
	return equality.Semantic.DeepEqual(status, after.Status)
}

// onlyGone reports whether nothing has changed but how many pods are on their way out.
func onlyGone(before, after *appsv1.ReplicaSet) bool {
	if equality.Semantic.DeepEqual(before.Status.TerminatingReplicas, after.Status.TerminatingReplicas) {
		return false
	}
	status, meta := before.Status, before.ObjectMeta
	status.TerminatingReplicas = after.Status.TerminatingReplicas
	meta.ResourceVersion, meta.ManagedFields = after.ResourceVersion, after.ManagedFields
	return equality.Semantic.DeepEqual(status, after.Status) && equality.Semantic.DeepEqual(meta, after.ObjectMeta)
}
