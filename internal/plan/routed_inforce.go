package plan

import "github.com/sluice-delivery/sluice/api/v1alpha1"

// recordedWeight is the canary Service's weight in the status, which goes by the name of the Service: parts change.
func (r *routing) recordedWeight() (weight int32, recorded bool) {
	w := r.was.Canary.Weights
	if w == nil {
		return 0, false
	}
	for _, d := range []v1alpha1.WeightDestination{w.Canary, w.Stable} {
		if d.ServiceName == r.canaryService.Name {
			return min(d.Weight, r.canary.MaxWeight), true
		}
	}
	return 0, false
}

// seeWeight takes for the weight in force what all routers show, if they agree: a pass set it and could not record it. It has to try one
// after the other, so it is asked for only where traffic may not go back to the stable version as it pleases.
func (r *routing) seeWeight() {
	for weight := range r.canary.MaxWeight + 1 {
		if r.carriedOut(r.split(weight)) {
			r.now, r.inForce = weight, true
			return
		}
	}
}

// mayCarry is the most that the canary Service may carry.
func (r *routing) mayCarry() int32 {
	if r.inForce {
		return r.now
	}
	return r.canary.MaxWeight
}
