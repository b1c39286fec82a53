package cli

import (
	"context"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// signing is how long the event about what someone did may take.
const signing = 5 * time.Second

// signed has what was written to a Rollout followed by an event that says who wrote it, for notifications to name them.
func (a *app) signed(past string, do func(context.Context, live.Client, string) (result string, wrote bool, err error)) func(context.Context, live.Client, string) (string, error) {
	return func(ctx context.Context, c live.Client, name string) (string, error) {
		result, wrote, err := do(ctx, c, name)
		if wrote && err == nil {
			a.sign(ctx, c, name, past)
		}
		return result, err
	}
}

// patched is what sends a patch that always writes something.
func patched(p act.Patch, result string) func(context.Context, live.Client, string) (string, bool, error) {
	return func(ctx context.Context, c live.Client, name string) (string, bool, error) {
		return "rollout '" + name + "' " + result, true, p.Send(ctx, c, live.Rollouts, name)
	}
}

// sign writes the event. Not everyone may write events, and old clusters do not say who one is: what was asked for is done all the same, and the
// audit log has the name.
func (a *app) sign(ctx context.Context, c live.Client, name, past string) {
	ctx, cancel := context.WithTimeout(ctx, signing)
	defer cancel()
	who, err := c.Whoami(ctx)
	if err != nil || who == "" {
		return
	}
	ro, err := c.Rollout(ctx, name)
	if err != nil {
		return
	}
	_ = c.WriteEvent(ctx, live.UserAction(ro, past, clean.Text(who), v1alpha1.CLIEventSource, a.clock.Now()))
}
