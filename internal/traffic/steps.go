package traffic

import (
	"maps"
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// RouteOf is the route that a step sets, nil where it removes the one of that name, if it is such a step.
func RouteOf(step spec.Step) (name string, route Route, ok bool) {
	switch s := step.(type) {
	case spec.SetHeaderRoute:
		if len(s.Match) == 0 {
			return s.Name, nil, true
		}
		return s.Name, headerRoute(s), true
	case spec.SetMirrorRoute:
		if len(s.Match) == 0 {
			return s.Name, nil, true
		}
		return s.Name, mirrorRoute(s), true
	case spec.SetWeight, spec.SetCanaryScale, spec.Pause, spec.RunAnalysis, spec.RunExperiment, spec.RunPlugin:
	}
	return "", nil, false
}

func headerRoute(s spec.SetHeaderRoute) HeaderRoute {
	route := HeaderRoute{Name: s.Name}
	for _, m := range s.Match {
		route.Match = append(route.Match, HeaderMatch{Header: m.HeaderName, Value: *stringMatch(m.HeaderValue)})
	}
	return route
}

func mirrorRoute(s spec.SetMirrorRoute) MirrorRoute {
	route := MirrorRoute{Name: s.Name, Percent: s.Percent}
	for _, m := range s.Match {
		match := RequestMatch{Method: stringMatch(m.Method), Path: stringMatch(m.Path)}
		for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
			value := m.Headers[name]
			match.Headers = append(match.Headers, HeaderMatch{Header: name, Value: *stringMatch(&value)})
		}
		route.Match = append(route.Match, match)
	}
	return route
}

func stringMatch(m *v1alpha1.StringMatch) *StringMatch {
	switch {
	case m == nil:
		return nil
	case m.Exact != "":
		return &StringMatch{Kind: Exact, Value: m.Exact}
	case m.Prefix != "":
		return &StringMatch{Kind: Prefix, Value: m.Prefix}
	}
	return &StringMatch{Kind: Regex, Value: m.Regex}
}
