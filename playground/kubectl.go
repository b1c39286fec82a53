package main

import (
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// runKubectl is kubectl's own main.
func runKubectl(args []string) {
	// kubectl looks for its arguments here from several places, plugins among them.
	os.Args = args
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(args))
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}

// kubectlCommand is only there to be listed: main runs kubectl before cobra sees the command line.
func kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "kubectl",
		Short:              "Run kubectl, which is built in",
		DisableFlagParsing: true,
		Run:                func(_ *cobra.Command, args []string) { runKubectl(append([]string{"kubectl"}, args...)) },
	}
}
