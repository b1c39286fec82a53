package playtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Point is what the namespace's ReplicaSets say at one resourceVersion, summed up.
type Point struct {
	ResourceVersion    string
	Desired, Available int32
	// sets is "name desired/actual/available" of each.
	sets []string
}

func (p Point) String() string { return strings.Join(p.sets, ", ") }

// History records every state that the namespace's ReplicaSets go through.
type History struct {
	ns     *Namespace
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	grown  *sync.Cond
	now    map[string]appsv1.ReplicaSet
	points []Point
}

// Record begins to record, from what is there now.
func (ns *Namespace) Record() *History {
	ns.t.Helper()
	ctx, cancel := context.WithCancel(ns.t.Context())
	h := &History{ns: ns, cancel: cancel, done: make(chan struct{}), now: map[string]appsv1.ReplicaSet{}}
	h.grown = sync.NewCond(&h.mu)
	var sets appsv1.ReplicaSetList
	if err := ns.Client.List(ctx, &sets, client.InNamespace(ns.Name)); err != nil {
		ns.t.Fatal(err)
	}
	for _, set := range sets.Items {
		h.now[set.Name] = set
	}
	events, err := ns.Client.Watch(ctx, &sets, client.InNamespace(ns.Name), &client.ListOptions{Raw: since(&sets)})
	if err != nil {
		ns.t.Fatal(err)
	}
	go h.follow(events)
	ns.t.Cleanup(cancel)
	return h
}

func (h *History) follow(events watch.Interface) {
	defer close(h.done)
	defer events.Stop()
	for e := range events.ResultChan() {
		set, ok := e.Object.(*appsv1.ReplicaSet)
		if !ok {
			return // the watch is over
		}
		h.mu.Lock()
		h.now[set.Name] = *set
		if e.Type == watch.Deleted {
			delete(h.now, set.Name)
		}
		h.points = append(h.points, h.point(set.ResourceVersion))
		h.grown.Broadcast()
		h.mu.Unlock()
	}
}

func (h *History) point(version string) Point {
	p := Point{ResourceVersion: version}
	for name, set := range h.now {
		p.Desired += *set.Spec.Replicas
		p.Available += set.Status.AvailableReplicas
		p.sets = append(p.sets, fmt.Sprintf("%s %d/%d/%d", name, *set.Spec.Replicas, set.Status.Replicas, set.Status.AvailableReplicas))
	}
	slices.Sort(p.sets)
	return p
}

// WaitForEvents waits until n more changes have been seen, or until a while has passed in which there were none: then nothing
// is moving, and waiting for it to move would take for ever.
func (h *History) WaitForEvents(n int) {
	ctx, cancel := context.WithTimeout(h.ns.t.Context(), quiet)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.grown.Broadcast()
	})
	defer stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	for until := len(h.points) + n; len(h.points) < until && ctx.Err() == nil; {
		h.grown.Wait()
	}
}

// Stop ends the recording and returns it.
func (h *History) Stop() []Point {
	h.cancel()
	<-h.done
	return h.points
}
