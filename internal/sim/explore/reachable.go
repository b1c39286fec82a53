package explore

import (
	"maps"
	"time"
)

// endpointLag is how late EndpointSlices list pods in a world where they do.
const endpointLag = 2 * time.Second

// reachable checks that a route sends requests to a version that got none before only when EndpointSlices list one of its available pods: until then
// proxies know of none.
func (r *rules) reachable() {
	if !r.history.Late || r.weights.bent {
		return
	}
	now := r.picture()
	before := r.receivers(picture{now.services, r.weights.seenRoutes, now.sizes}) // a Service that is pointed elsewhere is not at issue here
	for hash := range r.receivers(now) {
		if !before[hash] && r.world.Unlisted(hash) {
			r.history.fail("reachable", "a route sends the first requests to %s, of which no EndpointSlice lists a pod: %s", hash, summary(r.world))
		}
	}
}

// receivers are the versions that routers send to.
func (r *rules) receivers(p picture) map[string]bool {
	all := map[string]bool{}
	for _, s := range r.split(p) {
		for hash := range maps.Keys(s.by) {
			all[hash] = true
		}
	}
	return all
}
