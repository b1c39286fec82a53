package lint

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// checkRouting has the Rollout's traffic routers split the routes and Ingresses that are in the files, as they would in the cluster: what
// they say then is wrong there too.
func (l *linter) checkRouting(o *object, ro *v1alpha1.Rollout) {
	canary := ro.Spec.Strategy.Canary
	if canary == nil || canary.TrafficRouting == nil || canary.StableService == "" || canary.CanaryService == "" {
		return // the schema tells what is missing; with ping-pong the Services change parts
	}
	split := traffic.Split{
		Max:    v1alpha1.DefaultMaxTrafficWeight,
		Stable: traffic.Destination{Service: canary.StableService, Weight: v1alpha1.DefaultMaxTrafficWeight},
		Canary: traffic.Destination{Service: canary.CanaryService},
	}
	if canary.TrafficRouting.SessionAffinity != nil { // what stands in the way of sessions is seen only while both versions have traffic
		split.Stable.Hash, split.Stable.Weight = "stable", v1alpha1.DefaultMaxTrafficWeight/2
		split.Canary.Hash, split.Canary.Weight = "canary", v1alpha1.DefaultMaxTrafficWeight/2
	}
	if resolved, problems := spec.Resolve(ro); len(problems) == 0 {
		split.Routes, split.Managed = headerRoutes(resolved)
	}
	if ro.Namespace == "" { // as kubectl would have it
		ro = ro.DeepCopy()
		ro.Namespace = metav1.NamespaceDefault
	}
	owner := traffic.Owner{Namespace: ro.Namespace, Name: ro.Name}
	policy := spec.AllowAll()
	policy.Selected = l.selected(ro)
	for _, router := range routers.For(owner, spec.Routers(ro), policy) {
		have := traffic.Objects{}
		var elsewhere []string
		for _, ref := range router.Refs() {
			if ref.Field == "" { // the router's own, which it makes
				continue
			}
			found := l.want(o, ref.Field, ref.Group, ref.Kind, ref.Name)
			if found == nil {
				elsewhere = append(elsewhere, ref.Field)
				continue
			}
			route := &unstructured.Unstructured{Object: found.copy()}
			route.SetNamespace(ref.Namespace)
			have[ref.Key()] = route
		}
		if len(have) == 0 {
			continue
		}
		_, problems := router.Render(split, have)
		problems = slices.DeleteFunc(problems, func(p spec.Problem) bool { return p.Missing != "" && len(policy.Selected) == 0 }) // they may be elsewhere
		l.problems(InvalidRoute, o, slices.DeleteFunc(problems, func(p spec.Problem) bool { return slices.Contains(elsewhere, p.Field) }))
	}
}

// selected are the routes in the files that the Rollout finds by their labels.
func (l *linter) selected(ro *v1alpha1.Rollout) []spec.SelectedObject {
	return routers.Select(routers.Selections(ro), func(yield func(*unstructured.Unstructured) bool) {
		for _, o := range l.objects {
			route := &unstructured.Unstructured{Object: o.copy()}
			if route.GetNamespace() == "" {
				route.SetNamespace(ro.Namespace)
			}
			if !yield(route) {
				return
			}
		}
	})
}

// headerRoutes are the header routes that the steps of a Rollout set, each name once.
func headerRoutes(ro spec.Rollout) (routes []traffic.Route, names []string) {
	canary, ok := ro.Strategy.(spec.Canary)
	if !ok {
		return nil, nil
	}
	for _, step := range canary.Steps {
		name, route, ok := traffic.RouteOf(step)
		if header, isHeader := route.(traffic.HeaderRoute); ok && isHeader && !slices.Contains(names, name) {
			routes, names = append(routes, header), append(names, name)
		}
	}
	return routes, names
}
