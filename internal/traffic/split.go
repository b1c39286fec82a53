package traffic

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
