package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

func (a *app) setCommand() *cobra.Command {
	return a.group("set", "Change a rollout", a.setImageCommand())
}

func (a *app) setImageCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "image NAME CONTAINER=IMAGE...",
		Short: "Update the container images of a rollout",
		Example: a.examples(`
			{} set image web nginx=nginx:1.16
			# All containers
			{} set image web '*=nginx:1.16'`),
		Args:              imageArgs,
		ValidArgsFunction: a.completeContainers,
		RunE: func(cmd *cobra.Command, args []string) error {
			images, err := act.ParseImages(args[1:])
			if err != nil {
				return err
			}
			return a.each(cmd, args[:1], a.signed("image set", func(ctx context.Context, c live.Client, name string) (string, bool, error) {
				changed, err := act.SetImages(ctx, c, name, images)
				if !changed && err == nil {
					return fmt.Sprintf("rollout %q has these images already", name), false, nil
				}
				return fmt.Sprintf("rollout %q image updated", name), true, err
			}))
		},
	}
}

func imageArgs(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("which image? Write %s NAME CONTAINER=IMAGE", cmd.CommandPath())
	}
	return nil
}
