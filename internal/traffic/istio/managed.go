package istio

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/note"
)

// addManaged puts the managed routes before all others. It says why it cannot.
func (s *service) addManaged(chosen []place) string {
	if len(s.want.Routes) == 0 {
		return ""
	}
	at := slices.IndexFunc(chosen, func(p place) bool { return p.protocol == "http" })
	if at < 0 {
		return fmt.Sprintf("it has no http route, and the managed route %q needs one: remove the step, or add an http route", s.want.Routes[0].RouteName())
	}
	if s.takesFromOthers() {
		return fmt.Sprintf("it belongs to namespace %s and has http routes of others, whose requests the managed route %q would take: remove the step, or use a VirtualService without such routes",
			s.object.GetNamespace(), s.want.Routes[0].RouteName())
	}
	weighted := chosen[at].route
	for _, managed := range s.want.Routes {
		s.managed = append(s.managed, managedRoute{note.Key(s.owner), s.managedRoute(managed, weighted)})
	}
	return ""
}

// takesFromOthers reports whether a managed route, which comes before all others, would take requests from another tenant's: the VirtualService is
// of another namespace, and one of its http routes leads to none of this Rollout's Services.
func (s *service) takesFromOthers() bool {
	if s.object.GetNamespace() == s.owner.Namespace {
		return false
	}
	return slices.ContainsFunc(s.http, func(entry any) bool {
		of, _ := entry.(route)
		return !slices.ContainsFunc(destinations(of), func(d any) bool {
			is, _ := s.partOf(d)
			return is != foreign
		})
	})
}

// managedRoute is the http route that carries out a managed route.
func (s *service) managedRoute(managed traffic.Route, weighted route) route {
	switch m := managed.(type) {
	case traffic.HeaderRoute:
		var matches []any
		for _, match := range m.Match {
			matches = append(matches, map[string]any{"headers": headers([]traffic.HeaderMatch{match})})
		}
		to := map[string]any{"weight": int64(percent), "destination": s.toCanary(weighted)}
		return route{"name": m.Name, "match": matches, "route": []any{to}}
	case traffic.MirrorRoute:
		var matches []any
		for _, match := range m.Match {
			matches = append(matches, requestMatch(match))
		}
		copied, _ := runtime.DeepCopyJSONValue(weighted["route"]).([]any)
		return route{
			"name": m.Name, "match": matches, "route": copied,
			"mirror": s.toCanary(weighted), "mirrorPercentage": map[string]any{"value": int64(m.Percent)},
		}
	}
	return nil
}

// toCanary is a destination that is the canary, at the port of the weighted route's first destination if that has one.
func (s *service) toCanary(weighted route) map[string]any {
	list := destinations(weighted)
	to := map[string]any{"host": s.sibling(list, s.want.Canary.Service)}
	if s.subsets() {
		to["host"], to["subset"] = s.host, s.spec.DestinationRule.Canary
	}
	if len(list) > 0 {
		first, _ := list[0].(map[string]any)
		destination, _ := first["destination"].(map[string]any)
		if port, ok := destination["port"].(map[string]any); ok {
			to["port"] = runtime.DeepCopyJSON(port)
		}
	}
	return to
}

func requestMatch(m traffic.RequestMatch) map[string]any {
	out := map[string]any{}
	if m.Method != nil {
		out["method"] = stringMatch(*m.Method)
	}
	if m.Path != nil {
		out["uri"] = stringMatch(*m.Path)
	}
	if len(m.Headers) > 0 {
		out["headers"] = headers(m.Headers)
	}
	return out
}

func headers(all []traffic.HeaderMatch) map[string]any {
	out := map[string]any{}
	for _, h := range all {
		out[h.Header] = stringMatch(h.Value)
	}
	return out
}

func stringMatch(m traffic.StringMatch) map[string]any {
	return map[string]any{string(m.Kind): m.Value}
}

// note notes what the VirtualService now has of this Rollout.
func (s *service) note() {
	n := mark{Cookie: s.mine.Cookie}
	for _, r := range s.want.Routes {
		n.Routes = append(n.Routes, r.RouteName())
	}
	if s.want.Canary.Weight > 0 {
		n.Services = append(n.Services, s.want.Canary.Service)
	}
	for _, d := range s.experiments() {
		n.Added = append(n.Added, d.Service)
	}
	if len(n.Services)+len(n.Added) > 0 {
		n.Stable = s.want.Stable.Service
		if s.subsets() {
			n.Subsets = []string{s.spec.DestinationRule.Stable, s.spec.DestinationRule.Canary}
		}
	}
	s.notes.Set(s.owner, n)
}

// dropAdded removes the destinations that were added.
func (s *service) dropAdded() {
	for _, list := range [][]any{s.http, s.list("tls"), s.list("tcp")} {
		for _, entry := range list {
			of, ok := entry.(route)
			if !ok || of["route"] == nil || len(s.mine.Added) == 0 {
				continue
			}
			of["route"] = slices.DeleteFunc(destinations(of), func(d any) bool {
				entry, _ := d.(map[string]any)
				destination, _ := entry["destination"].(map[string]any)
				return names(s.mine.Added, s.serviceOf(destination))
			})
		}
	}
}
