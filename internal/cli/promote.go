package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// promotion is how far to promote.
type promotion struct {
	full, skipStep, skipAll bool
}

// deprecated flags work as they always have. Cobra would print its warning where results go.
var deprecated = []struct{ name, instead string }{
	{"skip-current-step", "without it the current step is passed as well"},
	{"skip-all-steps", "use --full"},
}

func (a *app) promoteCommand() *cobra.Command {
	var how promotion
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
			if err := how.check(); err != nil {
				return err
			}
			for _, flag := range deprecated {
				if cmd.Flags().Changed(flag.name) {
					a.tell("Warning: --%s is deprecated: %s\n", flag.name, flag.instead)
				}
			}
			return a.each(cmd, names, how.do)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&how.full, "full", false, "skip all remaining steps, pauses, and analyses")
	f.BoolVarP(&how.skipStep, "skip-current-step", "c", false, "skip the current step of a canary")
	f.BoolVarP(&how.skipAll, "skip-all-steps", "a", false, "skip all steps of a canary")
	for _, flag := range deprecated {
		_ = f.MarkHidden(flag.name) // fails for unknown flags only
	}
	return cmd
}

func (how promotion) check() error {
	switch {
	case how.skipStep && how.skipAll:
		return errors.New("use one of --skip-current-step and --skip-all-steps")
	case how.full && (how.skipStep || how.skipAll):
		return errors.New("--full skips all steps already: leave the other flag out")
	}
	return nil
}

func (how promotion) do(ctx context.Context, c live.Client, name string) (string, error) {
	ro, err := c.Rollout(ctx, name)
	if err != nil {
		return "", err
	}
	p, err := how.patch(ro)
	if err != nil {
		return "", err
	}
	if err := p.send(ctx, c, rollouts, name); err != nil {
		return "", err
	}
	switch {
	case p.status == nil && p.spec == nil:
		return fmt.Sprintf("rollout '%s' has nothing left to promote", name), nil
	case how.full:
		return fmt.Sprintf("rollout '%s' fully promoted", name), nil
	}
	return fmt.Sprintf("rollout '%s' promoted", name), nil
}

// patch is what to write. Where a controller pauses, removing the pause is enough: the controller then continues by itself. Where it is busy with a
// step, the step is counted as done for it. Never both, or a promotion would skip a step that nobody has seen yet.
func (how promotion) patch(ro *v1alpha1.Rollout) (patch, error) {
	index, count := stepOf(ro)
	skip := func(to int) fields { return fields{"pauseConditions": nil, "currentStepIndex": min(to, count)} }
	switch {
	case (how.skipStep || how.skipAll) && ro.Spec.Strategy.Canary == nil:
		return patch{}, fmt.Errorf("rollout '%s' is no canary, so it has no steps to skip", ro.Name)
	case (how.skipStep || how.skipAll) && count == 0:
		return patch{}, fmt.Errorf("rollout '%s' has no steps to skip", ro.Name)
	case how.skipStep:
		return patch{status: skip(index + 1)}, nil
	case how.skipAll:
		return patch{status: skip(count)}, nil
	}

	var p patch
	if ro.Spec.Paused {
		p.spec = fields{"paused": false}
	}
	if how.full {
		if ro.Status.CurrentPodHash != ro.Status.StableRS {
			p.status = fields{"promoteFull": true}
		}
		return p, nil
	}
	switch paused := len(ro.Status.PauseConditions) > 0; {
	case paused && ro.Status.ControllerPause && inconclusive(ro) && index < count:
		p.status = skip(index + 1)
		p.status["controllerPause"] = false // or the pause step behind would be taken for one that is over
	case paused:
		p.status = fields{"pauseConditions": nil}
	case index < count:
		p.status = skip(index + 1)
	}
	return p, nil
}

// stepOf is the index of a canary's current step and the number of steps; both zero for what has none.
func stepOf(ro *v1alpha1.Rollout) (index, count int) {
	if ro.Spec.Strategy.Canary == nil {
		return 0, 0
	}
	count = len(ro.Spec.Strategy.Canary.Steps)
	if i := ro.Status.CurrentStepIndex; i != nil {
		index = min(int(*i), count)
	}
	return index, count
}

// inconclusive is true while the analysis of the current step could not tell, and a person is to decide.
func inconclusive(ro *v1alpha1.Rollout) bool {
	run := ro.Status.Canary.CurrentStepAnalysisRunStatus
	return ro.Spec.Strategy.Canary != nil && run != nil && run.Status == v1alpha1.AnalysisPhaseInconclusive
}
