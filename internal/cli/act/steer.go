package act

import (
	"context"
	"fmt"
	"strconv"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// Steer writes what a command asks for to the rollout as it is now, or says why there is nothing to write.
func Steer(how func(*v1alpha1.Rollout) (p Patch, result string)) func(context.Context, live.Client, string) (result string, wrote bool, err error) {
	return func(ctx context.Context, c live.Client, name string) (string, bool, error) {
		ro, err := c.Rollout(ctx, name)
		if err != nil {
			return "", false, err
		}
		p, result := how(ro)
		return fmt.Sprintf("rollout '%s' %s", name, result), !p.empty(), p.Send(ctx, c, live.Rollouts, name)
	}
}

// Abort is what to write to abort the update, and what to say about it.
func Abort(ro *v1alpha1.Rollout) (Patch, string) {
	switch {
	case ro.Status.Abort:
		return Patch{}, "is aborted already"
	case observed(ro) && ro.Status.CurrentPodHash == ro.Status.StableRS:
		return Patch{}, "has no update to abort"
	}
	return Patch{Status: Fields{"abort": true}}, "aborted"
}

// Retry is what to write to try an aborted update again, and what to say about it.
func Retry(ro *v1alpha1.Rollout) (Patch, string) {
	if !ro.Status.Abort {
		return Patch{}, "is not aborted: there is nothing to retry"
	}
	return Patch{Status: Fields{"abort": false}}, "retried"
}

// observed reports whether the status is of the spec as it is now: an update may be about to begin.
func observed(ro *v1alpha1.Rollout) bool {
	return ro.Status.ObservedGeneration == strconv.FormatInt(ro.Generation, 10)
}
