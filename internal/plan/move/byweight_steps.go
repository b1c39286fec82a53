package move

import (
	"fmt"
	"reflect"

	"github.com/sluice-delivery/sluice/internal/plan/capacity"
)

// Carries reports whether everything goes to the new version, so that it can be promoted, or else what is missing.
func (r *ByWeight) Carries() (bool, string) {
	if r.want.TakesOver() {
		return true, ""
	}
	return r.Weighs(r.canary.MaxWeight)
}

// Wanted is how many pods the new version needs available to be promoted: all, or as many of them as there is room for beside the stable
// version's. The others come when those are gone.
func (r *ByWeight) Wanted() int32 {
	if r.want.StableBeside() == nil {
		return r.want.Replicas()
	}
	return min(r.want.Replicas(), r.want.Aim())
}

// Weighs reports whether every router sends this weight to the new version by the end of this pass, or else what is missing.
func (r *ByWeight) Weighs(weight int32) (bool, string) {
	w := r.update.Is.Canary.Weights
	if r.want.Alone() {
		weight = r.canary.MaxWeight
	}
	switch {
	case len(r.update.Problems) > 0:
		return false, "the traffic cannot be moved: " + r.update.Problems[0].String()
	case weight > 0 && r.draft.Selects(r.split.CanaryService.Name) != r.update.Is.CurrentPodHash: // nothing is carried by any version
		return false, "the canary service does not send to the new version yet"
	case w == nil || w.Canary.ServiceName != r.split.CanaryService.Name || w.Canary.Weight != weight:
		return false, fmt.Sprintf("the canary gets %s of the traffic, not %s yet", r.want.PortionText(r.split.Next.Canary.Weight), r.want.PortionText(weight))
	}
	return true, ""
}

// Sends reports whether the managed routes are as the steps so far have it by the end of this pass, or else what is missing. Routes to a
// version without pods come with its first pod; there is nothing to wait for.
func (r *ByWeight) Sends() (bool, string) {
	if len(r.update.Problems) > 0 {
		return false, "the route cannot be set: " + r.update.Problems[0].String()
	}
	if r.want.Aim() > 0 && !r.split.CanServe() {
		return false, "no pod of the new version is available"
	}
	if !reflect.DeepEqual(r.split.Routes(), r.split.Next.Routes) { // a step before this one has ended in this very pass
		return false, "the route is set next"
	}
	return true, ""
}

// Reached reports whether the pods are as the current step wants them, or else what is missing.
func (r *ByWeight) Reached() (bool, string) {
	want := r.want.Aim()
	want = max(want, capacity.FitSurge(r.world.New.Desired(), r.restart.WithSurge(r.world.New, want), r.want.Free()))
	canary := r.world.New.Counts()
	if !r.canary.Threshold.Met(canary.Available, want) {
		return false, fmt.Sprintf("%d of %d canary pods available", canary.Available, want)
	}
	if canary.Desired != want || canary.Available > want {
		return false, fmt.Sprintf("the canary is on its way from %d to %d pods", canary.Actual, want)
	}
	if stable := r.want.StableBeside(); stable != nil && !r.DynamicStableScale {
		if s := stable.Counts(); s.Desired != s.Actual || s.Desired < r.want.Replicas() {
			return false, fmt.Sprintf("the stable version is on its way from %d to %d pods", s.Actual, r.want.Replicas())
		}
	}
	return true, ""
}
