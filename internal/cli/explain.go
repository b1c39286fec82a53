package cli

import (
	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/explain"
	"github.com/sluice-delivery/sluice/internal/plan"
)

func (a *app) explainCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "explain NAME",
		Short: "Explain what a rollout is waiting for, why, and what happens next",
		Long: `Explains what a rollout is waiting for and why, and what will happen next and when. If a promise of
the engine holds something back, the command names and quotes the promise, and says what must happen first.

The command runs Sluice's engine locally on the objects in the cluster, and changes nothing. It also works if another controller
manages the rollout, but that controller may decide differently.`,
		Example:           a.examples(`{} explain web`),
		Args:              rollouts.one,
		ValidArgsFunction: a.completeOne(rollouts),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			c, err := a.connect()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			seen, err := c.Observe(ctx, args[0], a.clock.Now())
			if err != nil {
				return missing(ctx, c, args[0], err)
			}
			objects, err := c.Objects(ctx, args[0])
			if err != nil {
				return err
			}
			look := func(o *plan.Observed, need change.Need) error { return c.Look(ctx, o, need) }
			e, err := explain.Of(seen, objects, look, act.AfterPromotion)
			if err != nil {
				return err
			}
			if out.set() {
				return out.write(a, e)
			}
			a.print("%s", e.Text(a.display))
			return nil
		},
	}
	out.flag(cmd, outputJSON, outputYAML)
	return cmd
}
