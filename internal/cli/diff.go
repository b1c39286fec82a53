package cli

import (
	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/cli/act"
)

func (a *app) diffCommand() *cobra.Command {
	var from, to int64
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what an update changes in the pod template",
		Long: `Shows what the current update changes: the pod template of the stable version compared with the one in the spec.
Use --from-revision and --to-revision to compare other revisions.`,
		Example: a.examples(`
			{} diff web
			{} diff web --from-revision 3 --to-revision 5`),
		Args:              rollouts.one,
		ValidArgsFunction: a.completeOne(rollouts),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			before, after, err := act.Compared(cmd.Context(), c, args[0], from, to)
			if err != nil {
				return missing(cmd.Context(), c, args[0], err)
			}
			text, err := act.Difference(before, after)
			if err != nil {
				return err
			}
			if text == "" {
				a.tell("%s and %s have the same pod template.\n", before.Name, after.Name)
				return nil
			}
			a.print("%s", text)
			return nil
		},
	}
	cmd.Flags().Int64Var(&from, "from-revision", 0, "revision to compare from; defaults to the stable version")
	cmd.Flags().Int64Var(&to, "to-revision", 0, "revision to compare to; defaults to the spec")
	return cmd
}
