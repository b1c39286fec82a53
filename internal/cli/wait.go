package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/view"
)

func (a *app) waitCommand() *cobra.Command {
	var (
		goals   []string
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "wait NAME --for=GOAL",
		Short: "Wait until a rollout is healthy, paused, degraded, at a step or at a weight",
		Long: `Waits until a rollout has reached one of the goals, and prints which:

  healthy    the update is complete, and all pods are available
  paused     a timer or a promotion is pending
  degraded   the update was aborted, or is stuck
  step=N     at least N steps of the canary are complete
  weight=N   the canary has a weight of at least N

The command fails if the rollout is degraded and that is not a goal, if it is deleted, or if --timeout passes first.`,
		Example: a.examples(`
			{} wait web --for=paused --timeout 10m
			# Whichever comes first
			{} wait web --for=healthy --for=paused
			# Measure once the canary gets half of the traffic
			{} wait web --for=weight=50 && ./measure.sh`),
		Args:              rollouts.one,
		ValidArgsFunction: a.completeOne(rollouts),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted, err := parseGoals(goals)
			if err != nil {
				return err
			}
			c, err := a.connect()
			if err != nil {
				return err
			}
			return a.waitFor(cmd.Context(), c, args[0], wanted, timeout)
		},
	}
	cmd.Flags().StringSliceVar(&goals, "for", nil, "healthy, paused, degraded, step=N or weight=N; may be repeated; the first one reached ends the wait")
	cmd.Flags().DurationVarP(&timeout, "timeout", "t", 0, "time to wait before giving up; 0 waits forever")
	_ = cmd.RegisterFlagCompletionFunc("for", a.completeGoals) // fails for unknown flags only
	return cmd
}

var goalNames = []string{"healthy", "paused", "degraded", "step=", "weight="}

// goal is what can be waited for.
type goal struct {
	// text is how it was written, met what is said when it has come.
	text, met string
	reached   func(view.Rollout) bool
	// pods: what pods there are must be seen to tell.
	pods bool
}

func parseGoals(texts []string) ([]goal, error) {
	if len(texts) == 0 {
		return nil, fmt.Errorf("wait for what? Use --for with one of %s", join(goalNames))
	}
	var goals []goal
	for _, text := range texts {
		g, err := parseGoal(text)
		if err != nil {
			return nil, err
		}
		goals = append(goals, g)
	}
	return goals, nil
}

func parseGoal(text string) (goal, error) {
	is := func(icon view.Icon) func(view.Rollout) bool {
		return func(r view.Rollout) bool { return r.Status.Icon == icon }
	}
	switch name, number, numbered := strings.Cut(text, "="); {
	case text == "healthy":
		return goal{text: text, met: "is healthy", reached: is(view.IconHealthy)}, nil
	case text == "paused":
		return goal{text: text, met: "is paused", reached: is(view.IconPaused)}, nil
	case text == "degraded":
		return goal{text: text, met: "is degraded", reached: is(view.IconDegraded)}, nil
	case numbered && (name == "step" || name == "weight"):
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || n < 0 {
			return goal{}, fmt.Errorf("--for %q: %q is not a number: write for example step=2 or weight=50", text, number)
		}
		if name == "step" {
			return goal{text: text, met: fmt.Sprintf("has completed %s", count(int(n), "step")), reached: func(r view.Rollout) bool {
				return !r.Unobserved && r.StepsDone >= int(n)
			}}, nil
		}
		return goal{text: text, met: fmt.Sprintf("has weight %d", n), pods: true, reached: func(r view.Rollout) bool {
			return !r.Unobserved && r.ActualWeight >= int32(n)
		}}, nil
	}
	return goal{}, fmt.Errorf("--for %q is not one of %s", text, join(goalNames))
}

func (a *app) waitFor(ctx context.Context, c live.Client, name string, goals []goal, timeout time.Duration) error {
	follow := live.Client.FollowRollout
	if slices.ContainsFunc(goals, func(g goal) bool { return g.pods }) {
		follow = live.Client.Follow
	}
	last := "the cluster has not answered"
	err := a.until(ctx, c, name, timeout, follow, func(r view.Rollout) (bool, error) {
		last = r.Summary()
		for _, g := range goals {
			if g.reached(r) {
				a.print("rollout '%s' %s\n", name, g.met)
				return true, nil
			}
		}
		return false, degraded(r)
	})
	if errors.Is(err, errLate) {
		texts := make([]string, len(goals))
		for i, g := range goals {
			texts[i] = g.text
		}
		return fmt.Errorf("rollout '%s' did not come to %s in %s: %s", name, strings.Join(texts, " or "), timeout, last)
	}
	return err
}

// errLate says that something did not come in time.
var errLate = errors.New("not in time")

// until looks at a Rollout whenever it changes, until that is enough or wrong, the Rollout is deleted, or, with errLate, the time is over.
func (a *app) until(ctx context.Context, c live.Client, name string, timeout time.Duration,
	follow func(live.Client, context.Context, string) (<-chan live.Sight, error), enough func(view.Rollout) (bool, error),
) error {
	waiting, cancel := within(ctx, timeout)
	defer cancel()
	late := func() bool { return errors.Is(waiting.Err(), context.DeadlineExceeded) && ctx.Err() == nil }
	sights, err := follow(c, waiting, name)
	switch {
	case err != nil && late():
		return errLate
	case err != nil:
		return missing(ctx, c, name, err)
	}
	for sight := range sights {
		if sight.Gone {
			return live.GoneError{Noun: rollouts.noun, Name: name}
		}
		if done, err := enough(view.Of(sight.Objects, a.clock.Now())); done || err != nil {
			return err
		}
	}
	if late() {
		return errLate
	}
	return ctx.Err()
}
