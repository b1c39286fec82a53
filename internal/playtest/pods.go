package playtest

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Pods lists the pods of the namespace that are not being deleted, by name.
func (ns *Namespace) Pods() []corev1.Pod {
	ns.t.Helper()
	var list corev1.PodList
	if err := ns.Client.List(ns.t.Context(), &list, client.InNamespace(ns.Name)); err != nil {
		ns.t.Fatal(err)
	}
	return staying(&list)
}

func staying(list *corev1.PodList) []corev1.Pod {
	pods := slices.DeleteFunc(slices.Clone(list.Items), func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// WaitForPods watches the pods of the namespace until those that are not being deleted are, together, as wanted; what says what
// that is.
func (ns *Namespace) WaitForPods(what string, wanted func([]corev1.Pod) bool) []corev1.Pod {
	ns.t.Helper()
	var list corev1.PodList
	ns.waitForAll(&list, "pods "+what, func() bool { return wanted(staying(&list)) })
	return staying(&list)
}

// WaitForReplicaSets watches the ReplicaSets of the namespace until all are as wanted; what says what that is.
func (ns *Namespace) WaitForReplicaSets(what string, wanted func(*appsv1.ReplicaSet) bool) {
	ns.t.Helper()
	var list appsv1.ReplicaSetList
	ns.waitForAll(&list, "ReplicaSets "+what, func() bool {
		return !slices.ContainsFunc(list.Items, func(rs appsv1.ReplicaSet) bool { return !wanted(&rs) })
	})
}

// waitForAll lists until the list is as wanted, and again whenever something in it has changed.
func (ns *Namespace) waitForAll(list client.ObjectList, what string, wanted func() bool) {
	ns.t.Helper()
	ctx, cancel := context.WithTimeout(ns.t.Context(), Patience)
	defer cancel()
	for {
		if err := ns.Client.List(ctx, list, client.InNamespace(ns.Name)); err != nil {
			ns.t.Fatalf("wait for %s: %v", what, err)
		}
		if wanted() {
			return
		}
		events, err := ns.Client.Watch(ctx, list, client.InNamespace(ns.Name), &client.ListOptions{Raw: since(list)})
		if err != nil {
			ns.t.Fatalf("wait for %s: %v", what, err)
		}
		select {
		case <-events.ResultChan():
			events.Stop()
		case <-ctx.Done():
			ns.t.Fatalf("waited in vain for %s; the last that was seen: %+v", what, list)
		}
	}
}

// WaitForReplicaSetsToGo waits until the namespace has no ReplicaSets.
func (ns *Namespace) WaitForReplicaSetsToGo() {
	ns.t.Helper()
	var sets appsv1.ReplicaSetList
	ns.waitForAll(&sets, "no ReplicaSets", func() bool { return len(sets.Items) == 0 })
}
