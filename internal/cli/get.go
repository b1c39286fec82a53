package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/view"
)

func (a *app) getCommand() *cobra.Command {
	return a.group("get", "Show a rollout or an experiment", a.getRolloutCommand(), a.getExperimentCommand())
}

func (a *app) getRolloutCommand() *cobra.Command {
	get := getting{app: a, kind: rollouts, read: live.Client.Objects, follow: live.Client.Follow, row: func(o view.Objects) ([]string, []string) {
		return slices.Concat(rolloutColumns, rolloutWide), a.rolloutCells(true)(o.Rollout)
	}}
	cmd := &cobra.Command{
		Use:     rollouts.noun + " NAME",
		Aliases: rollouts.aliases,
		Short:   "Show a rollout: its status, steps, and pods",
		Long: `Shows a rollout: its status, its steps, and for each revision its pods (with the reason why a pod is not ready), experiments,
and analyses.

With -w, the command watches for changes until you press Ctrl-C. A terminal shows one view that is kept up to date; a pipe gets the
view once, and then a line for each change.`,
		Example: a.examples(`
			{} get rollout web
			{} get rollout web -w
			{} get rollout web --context production -n shop`),
		Args:              rollouts.one,
		ValidArgsFunction: a.completeOne(rollouts),
		RunE:              get.run,
	}
	get.flags(cmd)
	return cmd
}

func (a *app) getExperimentCommand() *cobra.Command {
	get := getting{app: a, kind: experiments, read: live.Client.ExperimentObjects, follow: live.Client.FollowExperiment, row: func(o view.Objects) ([]string, []string) {
		return slices.Concat(experimentColumns, experimentWide), a.experimentCells(true)(o.Experiment)
	}}
	cmd := &cobra.Command{
		Use:     experiments.noun + " NAME",
		Aliases: experiments.aliases,
		Short:   "Show an experiment: its status, pods, and analyses",
		Long: `Shows an experiment: its status, its remaining time, the pods of its templates, and the progress of its analyses.

With -w, the command watches for changes until you press Ctrl-C.`,
		Example: a.examples(`
			{} get experiment compare
			{} get experiment compare -w`),
		Args:              experiments.one,
		ValidArgsFunction: a.completeOne(experiments),
		RunE:              get.run,
	}
	get.flags(cmd)
	return cmd
}

// getting is what shows an object, once or for as long as one likes.
type getting struct {
	*app
	kind kind
	// row is the object as a line of a table: its columns and its cells.
	row            func(view.Objects) (columns, cells []string)
	output         output
	read           func(live.Client, context.Context, string) (view.Objects, error)
	follow         func(live.Client, context.Context, string) (<-chan live.Sight, error)
	watch, noColor bool
	timeout        int
}

func (g *getting) flags(cmd *cobra.Command) {
	g.output.flag(cmd, outputJSON, outputYAML, outputWide, outputName)
	cmd.Flags().BoolVarP(&g.watch, "watch", "w", false, "watch for changes")
	cmd.Flags().BoolVar(&g.noColor, "no-color", false, "disable colors; also disabled in a pipe and if NO_COLOR is set")
	cmd.Flags().IntVar(&g.timeout, "timeout-seconds", 0, "seconds to watch; 0 watches forever")
}

func (g *getting) run(cmd *cobra.Command, args []string) error {
	if err := g.output.check(); err != nil {
		return err
	}
	if g.watch && g.output.set() {
		return fmt.Errorf("--watch shows a picture: leave --output out, or use '%s wait' in a script", g.display)
	}
	c, err := g.connect()
	if err != nil {
		return err
	}
	if g.output.set() && g.output.format != outputWide {
		object, err := g.kind.in(c).Get(cmd.Context(), args[0], metav1.GetOptions{})
		if err != nil {
			return missing(cmd.Context(), c, args[0], err)
		}
		return g.output.printObject(g.app, object)
	}
	if g.watch {
		return g.show(cmd.Context(), c, g.screen(), args[0])
	}
	objects, err := g.read(c, cmd.Context(), args[0])
	if err != nil {
		return missing(cmd.Context(), c, args[0], err)
	}
	if g.output.format == outputWide {
		columns, cells := g.row(objects)
		g.table(columns, [][]string{cells})
		return nil
	}
	return g.screen().Print(objects)
}

func (g *getting) screen() live.Screen {
	screen := live.NewScreen(g.Out, g.noColor)
	screen.Clock = g.clock
	return screen
}

func (g *getting) show(ctx context.Context, c live.Client, screen live.Screen, name string) error {
	ctx, cancel := within(ctx, time.Duration(g.timeout)*time.Second)
	defer cancel()
	sights, err := g.follow(c, ctx, name)
	if err != nil {
		return missing(ctx, c, name, err)
	}
	err = screen.Watch(ctx, sights)
	if g.timeout > 0 && errors.Is(err, context.DeadlineExceeded) {
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
