package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "The version of Kubernetes in here",
		Args:  usage(cobra.NoArgs),
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintf(cmd.OutOrStdout(), "Kubernetes %s\n", version.Get().GitVersion)
		},
	}
}
