package routed

import (
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// recordedWeight is the canary Service's weight in the status, which goes by the name of the Service: parts change.
func (r *Split) recordedWeight() (weight int32, recorded bool) {
	w := r.update.Was.Canary.Weights
	if w == nil {
		return 0, false
	}
	for _, d := range []v1alpha1.WeightDestination{w.Canary, w.Stable} {
		if d.ServiceName == r.CanaryService.Name {
			return min(d.Weight, r.canary.MaxWeight), true
		}
	}
	return 0, false
}

// seeWeight finds out which weight is in force: the one in the status, if all routers show it. If they agree on another one, a pass set that
// and could not record it; what they show is looked at only where traffic may not go back to the stable version as it pleases. The same
// goes for what an experiment's pods are to get.
func (r *Split) seeWeight() {
	var recorded bool
	r.Now, recorded = r.recordedWeight()
	additional := [][]traffic.Destination{r.recordedAdditional(), r.experimentDestinations()}
	if slices.Equal(additional[0], additional[1]) {
		additional = additional[:1]
	}
	for _, r.additional = range additional {
		if r.InForce = recorded && r.carriedOut(r.Of(r.Now)); r.InForce {
			return
		}
	}
	if r.want.Stable().ConfirmedAvailable() >= r.want.Budget().Enough(r.canary.MaxWeight) {
		return
	}
	for _, r.additional = range additional {
		weight, shown := r.shownWeight()
		if shown && r.carriedOut(r.Of(weight)) {
			r.Now, r.InForce = weight, true
			return
		}
	}
}

// shownWeight is the weight that the objects of all routers show, if they agree on one.
func (r *Split) shownWeight() (weight int32, shown bool) {
	of := r.Of(0)
	for i, router := range r.Routers {
		interval, ok := router.Weight(of, r.objectsOf(router))
		if !ok {
			return 0, false
		}
		one, ok := interval.One()
		if !ok || i > 0 && one != weight {
			return 0, false
		}
		weight, shown = one, true
	}
	return weight, shown
}

// MayCarry is the most that the canary Service may carry.
func (r *Split) MayCarry() int32 {
	if r.InForce {
		return r.Now
	}
	return r.canary.MaxWeight
}
