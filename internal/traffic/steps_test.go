package traffic_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// A step that sets a route says how its texts are compared; one without a match removes the route of its name.
func TestRouteOf(t *testing.T) {
	exact, prefix, regex := v1alpha1.StringMatch{Exact: "a"}, v1alpha1.StringMatch{Prefix: "b"}, v1alpha1.StringMatch{Regex: "c"}
	for what, row := range map[string]struct {
		step spec.Step
		want traffic.Route
	}{
		"headers": {
			spec.SetHeaderRoute{Name: "r", Match: []v1alpha1.HeaderRoutingMatch{{HeaderName: "A", HeaderValue: &exact}, {HeaderName: "B", HeaderValue: &prefix}, {HeaderName: "C", HeaderValue: &regex}}},
			traffic.HeaderRoute{Name: "r", Match: []traffic.HeaderMatch{
				{Header: "A", Value: traffic.StringMatch{Kind: traffic.Exact, Value: "a"}},
				{Header: "B", Value: traffic.StringMatch{Kind: traffic.Prefix, Value: "b"}},
				{Header: "C", Value: traffic.StringMatch{Kind: traffic.Regex, Value: "c"}},
			}},
		},
		"a mirror": {
			spec.SetMirrorRoute{Name: "r", Percent: 35, Match: []v1alpha1.RouteMatch{{Method: &exact, Path: &prefix, Headers: map[string]v1alpha1.StringMatch{"Z": regex, "B": prefix}}, {}}},
			traffic.MirrorRoute{Name: "r", Percent: 35, Match: []traffic.RequestMatch{{
				Method: &traffic.StringMatch{Kind: traffic.Exact, Value: "a"}, Path: &traffic.StringMatch{Kind: traffic.Prefix, Value: "b"},
				Headers: []traffic.HeaderMatch{
					{Header: "B", Value: traffic.StringMatch{Kind: traffic.Prefix, Value: "b"}}, {Header: "Z", Value: traffic.StringMatch{Kind: traffic.Regex, Value: "c"}},
				},
			}, {}}},
		},
		"no headers": {spec.SetHeaderRoute{Name: "r"}, nil},
		"no mirror":  {spec.SetMirrorRoute{Name: "r"}, nil},
	} {
		name, route, ok := traffic.RouteOf(row.step)
		if diff := cmp.Diff(row.want, route); diff != "" || name != "r" || !ok {
			t.Errorf("%s: route %q, %t (-want +got)\n%s", what, name, ok, diff)
		}
	}
	if name, _, ok := traffic.RouteOf(spec.SetWeight{}); ok {
		t.Errorf("a weight is the route %q", name)
	}
}
