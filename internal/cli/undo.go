package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

func (a *app) undoCommand() *cobra.Command {
	var (
		revision int64
		dryRun   bool
	)
	cmd := &cobra.Command{
		Use:   "undo NAME",
		Short: "Return to an earlier revision",
		Long: `Copies the pod template of an earlier revision into the rollout, which starts an update to it. The command first shows what changes;
with --dry-run, it does nothing else.`,
		Example: a.examples(`
			# Return to the previous revision
			{} undo web
			{} undo web --to-revision 3`),
		Args:              rollouts.one,
		ValidArgsFunction: a.completeOne(rollouts),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd, args, a.signed("undone", func(ctx context.Context, c live.Client, name string) (string, bool, error) {
				result, err := a.undo(ctx, c, name, revision, dryRun)
				return result, !dryRun, err
			}))
		},
	}
	cmd.Flags().Int64Var(&revision, "to-revision", 0, "revision to return to; 0 for the previous one")
	_ = cmd.RegisterFlagCompletionFunc("to-revision", a.completeRevisions) // fails for unknown flags only
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only show what would change")
	return cmd
}

func (a *app) undo(ctx context.Context, c live.Client, name string, revision int64, dryRun bool) (string, error) {
	way, err := act.UndoTo(ctx, c, name, revision)
	if err != nil {
		return "", err
	}
	a.tell("%s\n", way.Text)
	if dryRun {
		return fmt.Sprintf("rollout '%s' would be undone to revision %d (dry run)", name, way.Revision), nil
	}
	if err := way.Do(ctx, c); err != nil {
		return "", err
	}
	return fmt.Sprintf("rollout '%s' undone to revision %d", name, way.Revision), nil
}
