package playtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Point is the namespace at one resourceVersion: its ReplicaSets, its Services, how routes split traffic between these, and its
// Experiments. Changes of Rollouts make points too.
type Point struct {
	ResourceVersion string
	// Sets are the ReplicaSets by the hash of their version.
	Sets map[string]appsv1.ReplicaSet
	// Selected are the hashes that Services select, by the Service's name.
	Selected map[string]string
	// Routes are the shares of Services, by the kind and name of the object of a traffic router.
	Routes map[string]Shares
	// Experiments are the phases of Experiments by their names, and Experiment the one that the Rollout's status names.
	Experiments map[string]v1alpha1.AnalysisPhase
	Experiment  string
	// Replicas is what the Rollout asks for, and Aborted whether its update was given up.
	Replicas int32
	Aborted  bool
}

// Desired is how many pods are asked for, Available how many there are that serve, over all versions.
func (p Point) Desired() (n int32) {
	for _, set := range p.Sets {
		n += *set.Spec.Replicas
	}
	return n
}

// Available is how many pods are available over all versions.
func (p Point) Available() (n int32) {
	for _, set := range p.Sets {
		n += set.Status.AvailableReplicas
	}
	return n
}

func (p Point) String() string {
	var parts []string
	for _, hash := range slices.Sorted(maps.Keys(p.Sets)) {
		set := p.Sets[hash]
		parts = append(parts, fmt.Sprintf("%s %d/%d/%d", hash, *set.Spec.Replicas, set.Status.Replicas, set.Status.AvailableReplicas))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Selected)) {
		parts = append(parts, fmt.Sprintf("service %s→%s", name, p.Selected[name]))
	}
	if routes := p.routesText(); routes != "" {
		parts = append(parts, routes)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Experiments)) {
		parts = append(parts, fmt.Sprintf("experiment %s %s", name, cmp.Or(p.Experiments[name], v1alpha1.AnalysisPhasePending)))
	}
	if p.Experiment != "" {
		parts = append(parts, "current experiment "+p.Experiment)
	}
	return fmt.Sprintf("resourceVersion %s: %s", p.ResourceVersion, strings.Join(parts, ", "))
}

// History records every state that the namespace's Rollouts, ReplicaSets, Services, routes and Experiments go through. Changes of what
// belongs to Experiments make points too, and are not in them.
type History struct {
	ns     *Namespace
	cancel context.CancelFunc
	follow sync.WaitGroup

	mu     sync.Mutex
	grown  *sync.Cond
	start  Point
	events []watch.Event
}

// Record begins to record, from what is there now.
func (ns *Namespace) Record() *History {
	ns.t.Helper()
	ctx, cancel := context.WithCancel(ns.t.Context())
	h := &History{ns: ns, cancel: cancel, start: Point{
		Sets: map[string]appsv1.ReplicaSet{}, Selected: map[string]string{}, Routes: map[string]Shares{},
		Experiments: map[string]v1alpha1.AnalysisPhase{},
	}}
	h.grown = sync.NewCond(&h.mu)
	var (
		sets     appsv1.ReplicaSetList
		services corev1.ServiceList
		rollouts v1alpha1.RolloutList

		experiments v1alpha1.ExperimentList
	)
	lists := []client.ObjectList{&sets, &services, &rollouts, &experiments}
	var routes []*unstructured.UnstructuredList
	for gvk := range ns.routeKinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		routes, lists = append(routes, list), append(lists, list)
	}
	for _, list := range lists {
		if err := ns.Client.List(ctx, list, client.InNamespace(ns.Name)); err != nil {
			ns.t.Fatal(err)
		}
		events, err := ns.Client.Watch(ctx, list, client.InNamespace(ns.Name), &client.ListOptions{Raw: since(list)})
		if err != nil {
			ns.t.Fatal(err)
		}
		h.follow.Go(func() { h.take(events) })
	}
	for i := range sets.Items {
		h.start.see(watch.Event{Type: watch.Added, Object: &sets.Items[i]})
	}
	for i := range services.Items {
		h.start.see(watch.Event{Type: watch.Added, Object: &services.Items[i]})
	}
	for i := range rollouts.Items {
		h.start.see(watch.Event{Type: watch.Added, Object: &rollouts.Items[i]})
	}
	for i := range experiments.Items {
		h.start.see(watch.Event{Type: watch.Added, Object: &experiments.Items[i]})
	}
	for _, list := range routes {
		for i := range list.Items {
			h.start.see(watch.Event{Type: watch.Added, Object: &list.Items[i]})
		}
	}
	ns.t.Cleanup(cancel)
	return h
}

func (h *History) take(events watch.Interface) {
	defer events.Stop()
	for e := range events.ResultChan() {
		if _, ok := e.Object.(client.Object); !ok {
			return // the watch is over
		}
		h.mu.Lock()
		h.events = append(h.events, e)
		h.grown.Broadcast()
		h.mu.Unlock()
	}
}

// see makes the point that of the event.
func (p *Point) see(e watch.Event) {
	gone := e.Type == watch.Deleted
	p.ResourceVersion = e.Object.(client.Object).GetResourceVersion()
	if owner := metav1.GetControllerOf(e.Object.(client.Object)); owner != nil && owner.Kind == v1alpha1.KindExperiment {
		return // it is none of the Rollout's pods
	}
	switch obj := e.Object.(type) {
	case *appsv1.ReplicaSet:
		p.Sets[obj.Labels[v1alpha1.PodTemplateHashLabel]] = *obj
		if gone {
			delete(p.Sets, obj.Labels[v1alpha1.PodTemplateHashLabel])
		}
	case *corev1.Service:
		p.Selected[obj.Name] = obj.Spec.Selector[v1alpha1.PodTemplateHashLabel]
		if gone {
			delete(p.Selected, obj.Name)
		}
	case *v1alpha1.Rollout:
		if obj.Spec.Replicas != nil {
			p.Replicas = *obj.Spec.Replicas
		}
		p.Aborted = obj.Status.Abort
		p.Experiment = obj.Status.Canary.CurrentExperiment
	case *v1alpha1.Experiment:
		p.Experiments[obj.Name] = obj.Status.Phase
		if gone {
			delete(p.Experiments, obj.Name)
		}
	case *unstructured.Unstructured:
		name := obj.GetKind() + " " + obj.GetName()
		delete(p.Routes, name)
		if shares := sharesOf(obj); shares != nil && !gone {
			p.Routes[name] = shares
		}
	}
}

// WaitForEvents waits until n more changes have been seen, or until there were none for some time: then nothing is moving,
// and it would wait forever. It reports whether they were seen.
func (h *History) WaitForEvents(n int) bool { return h.waitForEvents(n, quiet) }

// Quiet reports whether nothing changes for as long. Others may be busy meanwhile.
func (h *History) Quiet(d time.Duration) bool {
	seats.stand()
	defer seats.sit(back)
	return !h.waitForEvents(1, d)
}

func (h *History) waitForEvents(n int, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(h.ns.t.Context(), patience)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.grown.Broadcast()
	})
	defer stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	until := len(h.events) + n
	for len(h.events) < until && ctx.Err() == nil {
		h.grown.Wait()
	}
	return len(h.events) >= until
}

// Stop ends the recording and returns it, in the order in which the API server took the writes.
func (h *History) Stop() []Point {
	h.cancel()
	h.follow.Wait()
	slices.SortStableFunc(h.events, func(a, b watch.Event) int {
		order, err := resourceversion.CompareResourceVersion(a.Object.(client.Object).GetResourceVersion(), b.Object.(client.Object).GetResourceVersion())
		if err != nil {
			h.ns.t.Fatal(err)
		}
		return order
	})
	points := []Point{h.start}
	for _, e := range h.events {
		last := points[len(points)-1]
		next := last
		next.Sets, next.Selected, next.Routes = maps.Clone(last.Sets), maps.Clone(last.Selected), maps.Clone(last.Routes)
		next.Experiments = maps.Clone(last.Experiments)
		next.see(e)
		points = append(points, next)
	}
	return points
}
