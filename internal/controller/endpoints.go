package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// A pod is available before the EndpointSlices of its Service list it: two controllers learn of it, each in its own time. What routes then send to a
// Service that had no pod reaches nobody, or a pod that is ending. So before a route sends the first requests to a Service, the API server is asked
// for its EndpointSlices, once in most updates; until they list a pod of the version that the Service selects, the pass ends before the route is
// written. Pods are created, and Services are pointed at versions, all the same. Nothing is asked for a version without an available pod: where
// nothing can answer, the engine knows best what to do.

// sending is a Service that a plan is about to send its first requests to, and the ReplicaSet that is to answer them.
type sending struct {
	service string
	set     *appsv1.ReplicaSet
}

// firstRoute is the place of the first change of a route among changes, or their number if there is none. The release of a route sends nothing.
func firstRoute(changes []change.Change) int {
	i := slices.IndexFunc(changes, func(made change.Change) bool {
		c, ok := made.(change.WriteRoute)
		return ok && c.To != nil && !c.Release
	})
	if i < 0 {
		return len(changes)
	}
	return i
}

// listed returns a [notInForce] where a plan sends the first requests to a Service whose EndpointSlices do not list a pod that could answer.
func (r *RolloutReconciler) listed(ctx context.Context, seen plan.Observed, p plan.Plan) error {
	if firstRoute(p.Route) == len(p.Route) {
		return nil
	}
	all := sendings(seen, p)
	for _, s := range all {
		lists, err := r.lists(ctx, seen.Rollout.Namespace, s)
		if err != nil {
			return err
		}
		if lists {
			continue
		}
		again, since := r.memory.unfinishedSince(client.ObjectKeyFromObject(seen.Rollout), seen.Now)
		return r.tellWait(ctx, seen, notInForce{
			standing: traffic.Standing{Awaited: fmt.Sprintf("EndpointSlices of Service %q to list a pod of ReplicaSet %q", s.service, s.set.Name)},
			again:    again, quiet: since < shownAfter,
		})
	}
	return r.registered(ctx, seen, slices.DeleteFunc(all, func(s sending) bool { return returning(seen.Rollout.Status, s) }))
}

// sendings are the Services that had no traffic, as the status has it, and that a plan sends some to: by weight, or by a route for certain requests.
func sendings(seen plan.Observed, p plan.Plan) []sending {
	was := seen.Rollout.Status
	is := was
	if p.Record != nil {
		is = p.Record.To.Status
	}
	if is.Canary.Weights == nil {
		return nil
	}
	var all []sending
	for _, d := range append([]v1alpha1.WeightDestination{is.Canary.Weights.Canary, is.Canary.Weights.Stable}, is.Canary.Weights.Additional...) {
		set := selectedSet(seen, p, d.ServiceName)
		if set == nil || weightOf(was.Canary.Weights, d.ServiceName) > 0 {
			continue
		}
		if d.Weight > 0 || !is.Abort && isNamed(p.Route, d.ServiceName) {
			all = append(all, sending{d.ServiceName, set})
		}
	}
	return all
}

// weightOf is the weight of a Service.
func weightOf(w *v1alpha1.TrafficWeights, service string) int32 {
	if w == nil {
		return 0
	}
	for _, d := range append([]v1alpha1.WeightDestination{w.Canary, w.Stable}, w.Additional...) {
		if d.ServiceName == service && d.Weight > 0 {
			return d.Weight
		}
	}
	return 0
}

// isNamed reports whether a route that changes names a Service, in no fewer places than before. Though the status has no weight for it, such a route
// may send requests there: those with a header, or, while another router is broken, a share of all. One that names it in fewer places takes some away.
func isNamed(route []change.Change, service string) bool {
	return slices.ContainsFunc(route, func(made change.Change) bool {
		c, ok := made.(change.WriteRoute)
		if !ok || c.To == nil || c.Release {
			return false
		}
		before, after := 0, times(c.To.Object["spec"], service)
		if c.From != nil {
			before = times(c.From.Object["spec"], service)
		}
		return after > 0 && after >= before
	})
}

// times is how often a name is in an object.
func times(object any, name string) int {
	text, err := json.Marshal(object)
	if err != nil {
		return 0 // what came as JSON is JSON
	}
	return strings.Count(string(text), name)
}

// selectedSet is the ReplicaSet with available pods that a Service selects once a plan has pointed the Services; nil if there is none, or if the
// Service has no EndpointSlices of its own.
func selectedSet(seen plan.Observed, p plan.Plan, name string) *appsv1.ReplicaSet {
	services := slices.Concat(seen.Services, seen.ExperimentServices)
	for _, made := range p.Route {
		if c, ok := made.(change.UpdateService); ok {
			services = append(services, c.To)
		}
	}
	hash := ""
	for _, s := range services {
		if s.Name == name && s.Spec.Type != corev1.ServiceTypeExternalName {
			hash = s.Spec.Selector[v1alpha1.PodTemplateHashLabel]
		}
	}
	for _, set := range slices.Concat(seen.ReplicaSets, seen.ExperimentSets) {
		if hash != "" && set.Labels[v1alpha1.PodTemplateHashLabel] == hash && set.Status.AvailableReplicas > 0 {
			return set
		}
	}
	return nil
}

// lists reports whether the EndpointSlices of a Service list a pod of a ReplicaSet as ready. Where the controller may not read them it takes the
// ReplicaSet's word, as it did before it asked for that right.
func (r *RolloutReconciler) lists(ctx context.Context, namespace string, s sending) (bool, error) {
	endpoints, err := r.endpointsOf(ctx, namespace, s.service)
	switch {
	case apierrors.IsForbidden(err):
		r.unreadableEndpoints.Do(func() {
			r.log.WarnContext(ctx, "cannot list EndpointSlices: a Service that had no pod may get requests a moment before proxies know of its first one. Grant list on endpointslices.discovery.k8s.io", "error", err)
		})
		return true, nil
	case err != nil:
		return false, err
	}
	return listedPods(endpoints, s.set) > 0, nil
}

// isReadyPodOf reports whether an endpoint is a ready pod of a ReplicaSet, whose pods are named after it.
func isReadyPodOf(e discoveryv1.Endpoint, set *appsv1.ReplicaSet) bool {
	// as k8s.io/apiserver/pkg/storage/names generates names: five characters follow, and 63 are the most
	const longestBase = 58
	base := set.Name + "-"
	base = base[:min(len(base), longestBase)]
	ready := e.Conditions.Ready == nil || *e.Conditions.Ready
	return ready && e.TargetRef != nil && e.TargetRef.Kind == "Pod" && strings.HasPrefix(e.TargetRef.Name, base)
}
