package traffic

import (
	"fmt"
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Split is where the traffic of a Rollout should go. It is the whole wish: what is not in it is removed by the routers, as far as
// it is theirs.
type Split struct {
	// Max is the weight that means all traffic.
	Max int32
	// Stable, Canary and the Additional ones have weights that add up to Max.
	Stable, Canary Destination
	// Additional destinations are the templates of a running experiment.
	Additional []Destination
	// Routes are the managed routes in force, the first having precedence.
	Routes []Route
	// Managed names all routes that steps may add, in order of precedence. One that is not among Routes is to be gone.
	Managed []string
	// InProgress: an update is under way, and the weights are not there to stay.
	InProgress bool
}

// Destination is a share of the traffic and where it goes.
type Destination struct {
	// Service that gets it.
	Service string
	// Hash of the version that the Service selects, or should.
	Hash string
	// Weight in units of which [Split.Max] is all traffic.
	Weight int32
}

// Interval is a range of weights.
type Interval struct {
	// Least and Most differ where objects disagree, or show a share that is not a whole number of units.
	Least, Most int32
}

// One returns the only weight in the interval, if there is only one.
func (i Interval) One() (weight int32, one bool) { return i.Least, i.Least == i.Most }

// And is the smallest interval that contains both.
func (i Interval) And(o Interval) Interval {
	return Interval{Least: min(i.Least, o.Least), Most: max(i.Most, o.Most)}
}

// Portion is a share of the traffic, weight of total, in units of which most is all traffic. It reports false if this is no share.
func Portion(weight, total int64, most int32) (Interval, bool) {
	if weight < 0 || weight > total || total <= 0 || total > maxTotal || most < 0 {
		return Interval{}, false
	}
	units := weight * int64(most)
	return Interval{Least: int32(units / total), Most: int32((units + total - 1) / total)}, true
}

// InPercent is the problem that a router without [Features.AnyMax] has with a split, none if its weights are percentages. It names the field of the
// router.
func InPercent(want Split, field string) []spec.Problem {
	if want.Max == v1alpha1.DefaultMaxTrafficWeight {
		return nil
	}
	return []spec.Problem{{Field: field, Text: fmt.Sprintf("counts in percent, and weights add up to %d: remove maxTrafficWeight", want.Max)}}
}

// maxTotal is more than weights of real objects add up to. Beyond it, products of weights could overflow.
const maxTotal = 1 << 31

// Route sends certain requests elsewhere, whatever the weights: [HeaderRoute] or [MirrorRoute].
//
//sumtype:decl
type Route interface {
	isRoute()
	// RouteName is the name under which the spec lists the route in managedRoutes.
	RouteName() string
}

// HeaderRoute sends requests that fit any of the matches to the canary.
type HeaderRoute struct {
	Name  string
	Match []HeaderMatch // at least one
}

// MirrorRoute sends a copy of requests that fit any of the matches to the canary, and throws its answers away. The requests
// themselves are split by weight as all others.
type MirrorRoute struct {
	Name    string
	Match   []RequestMatch // at least one
	Percent int32          // of the fitting requests, 0 to 100
}

func (HeaderRoute) isRoute() {}
func (MirrorRoute) isRoute() {}

// RouteName implements [Route].
func (r HeaderRoute) RouteName() string { return r.Name }

// RouteName implements [Route].
func (r MirrorRoute) RouteName() string { return r.Name }

// HeaderMatch fits requests by one header.
type HeaderMatch struct {
	Header string
	Value  StringMatch
}

// All reports whether the route copies all requests: any other match cannot add to the one that all fit.
func (r MirrorRoute) All() bool {
	return slices.ContainsFunc(r.Match, func(m RequestMatch) bool {
		return m.Method == nil && len(m.Headers) == 0 && m.Path != nil && *m.Path == StringMatch{Kind: Prefix, Value: "/"}
	})
}

// RequestMatch fits requests for which all that it sets fits.
type RequestMatch struct {
	Method, Path *StringMatch
	Headers      []HeaderMatch // sorted by header
}

// StringMatch compares a text in one of three ways.
type StringMatch struct {
	Kind  MatchKind
	Value string
}

// MatchKind is how a text is compared.
type MatchKind string

// The ways to compare a text.
const (
	Exact  MatchKind = "exact"
	Prefix MatchKind = "prefix"
	Regex  MatchKind = "regex" // in the syntax of the router
)

// AndAll is what several places of one router show together. It reports false if there are none.
func AndAll(shown []Interval) (Interval, bool) {
	if len(shown) == 0 {
		return Interval{}, false
	}
	all := shown[0]
	for _, one := range shown[1:] {
		all = all.And(one)
	}
	return all, true
}
