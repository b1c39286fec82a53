package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/cli/act"
)

// deprecated flags work as they always have. Cobra would print its warning where results go.
var deprecated = []struct{ name, instead string }{
	{"skip-current-step", "without it the current step is passed as well"},
	{"skip-all-steps", "use --full"},
}

func (a *app) promoteCommand() *cobra.Command {
	var how act.Promotion
	cmd := &cobra.Command{
		Use:   "promote NAME...",
		Short: "Continue a paused update, or skip its current step",
		Long: `Continues an update: ends the current pause, or skips the step in progress.

With --full, the update skips all remaining steps, pauses, and analyses, and the new version takes over immediately.`,
		Example: a.examples(`
			# Continue after a pause
			{} promote web
			# Skip all that is left of the update
			{} promote web --full`),
		Args:              rollouts.some,
		ValidArgsFunction: a.completeSome(rollouts),
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := checkPromotion(how); err != nil {
				return err
			}
			for _, flag := range deprecated {
				if cmd.Flags().Changed(flag.name) {
					a.tell("Warning: --%s is deprecated: %s\n", flag.name, flag.instead)
				}
			}
			return a.each(cmd, names, a.signed(how.Past(), how.Do))
		},
	}
	f := cmd.Flags()
	f.BoolVar(&how.Full, "full", false, "skip all remaining steps, pauses, and analyses")
	f.BoolVarP(&how.SkipStep, "skip-current-step", "c", false, "skip the current step of a canary")
	f.BoolVarP(&how.SkipAll, "skip-all-steps", "a", false, "skip all steps of a canary")
	for _, flag := range deprecated {
		_ = f.MarkHidden(flag.name) // fails for unknown flags only
	}
	return cmd
}

func checkPromotion(how act.Promotion) error {
	switch {
	case how.SkipStep && how.SkipAll:
		return errors.New("use one of --skip-current-step and --skip-all-steps")
	case how.Full && (how.SkipStep || how.SkipAll):
		return errors.New("--full skips all steps already: leave the other flag out")
	}
	return nil
}
