package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/spec"
)

func (a *app) restartCommand() *cobra.Command {
	var in string
	cmd := &cobra.Command{
		Use:   "restart NAME...",
		Short: "Restart the pods of a rollout",
		Long: `Replaces all current pods of a rollout with new pods of the same version, at most maxUnavailable at a time. This does not start an
update.`,
		Example: a.examples(`
			{} restart web
			# In ten minutes
			{} restart web --in 10m`),
		Args:              rollouts.some,
		ValidArgsFunction: a.completeSome(rollouts),
		RunE: func(cmd *cobra.Command, names []string) error {
			wait, err := spec.PauseDuration(intstr.FromString(in))
			if err != nil {
				return fmt.Errorf("--in %q is not a duration: write for example 30s, 5m or 1h", in)
			}
			at := a.clock.Now().Add(wait).UTC().Format(time.RFC3339)
			p := act.Patch{Spec: act.Fields{"restartAt": at}}
			return a.each(cmd, names, a.signed("pods restarted", patched(p, fmt.Sprintf("restarts in %s", wait))))
		},
	}
	cmd.Flags().StringVarP(&in, "in", "i", "0s", "time to wait before the restart, such as 30s, 5m or 1h")
	return cmd
}
