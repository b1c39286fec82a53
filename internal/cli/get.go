package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/view"
)

func (a *app) getCommand() *cobra.Command {
	return a.group("get", "Show a rollout", a.getRolloutCommand())
}

func (a *app) getRolloutCommand() *cobra.Command {
	var (
		watch, noColour bool
		timeout         int
	)
	cmd := &cobra.Command{
		Use:     "rollout NAME",
		Aliases: []string{"ro", "rollouts"},
		Short:   "Show a rollout: its status, its steps and its pods",
		Long: `Shows a rollout: its status, its steps, and its pods by revision, with the reason why one is not ready.

With -w it goes on showing what happens until Ctrl-C. On a terminal that is one picture, kept up to date; into a pipe it is the
picture once, and then a line for each thing that happens.`,
		Example: a.examples(`
			{} get rollout web
			{} get rollout web -w
			{} get rollout web --context production -n shop`),
		Args:              named(false),
		ValidArgsFunction: a.completeRollout,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			screen := live.NewScreen(a.Out, noColour)
			screen.Clock = a.clock
			if watch {
				return watchRollout(cmd.Context(), c, screen, args[0], time.Duration(timeout)*time.Second)
			}
			objects, err := c.Objects(cmd.Context(), args[0])
			if err != nil {
				return missing(cmd.Context(), c, args[0], err)
			}
			return screen.Print(objects)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on showing what happens")
	cmd.Flags().BoolVar(&noColour, "no-color", false, "no colours; there are none in a pipe or if NO_COLOR is set")
	cmd.Flags().IntVar(&timeout, "timeout-seconds", 0, "stop watching after so many seconds; 0 for never")
	return cmd
}

func watchRollout(ctx context.Context, c live.Client, screen live.Screen, name string, timeout time.Duration) error {
	ctx, cancel := within(ctx, timeout)
	defer cancel()
	sights, err := c.Follow(ctx, name)
	if err != nil {
		return missing(ctx, c, name, err)
	}
	err = screen.Show(ctx, sights, func(view.Rollout) bool { return false })
	if timeout > 0 && errors.Is(err, context.DeadlineExceeded) {
		return nil // as long as was asked for
	}
	return err
}

// within ends a context after a while, or, for no time, only when its end is told.
func within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout > 0 {
		return context.WithTimeout(ctx, timeout)
	}
	return context.WithCancel(ctx)
}
