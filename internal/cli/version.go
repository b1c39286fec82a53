package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/buildinfo"
)

func (a *app) versionCommand() *cobra.Command {
	var short bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			fmt.Fprintf(a.Out, "%s: %s\n", a.command, buildinfo.Version())
			if short {
				return
			}
			for _, key := range []string{"vcs.revision", "vcs.time"} {
				if value := buildSetting(key); value != "" {
					fmt.Fprintf(a.Out, "  %s: %s\n", map[string]string{"vcs.revision": "GitCommit", "vcs.time": "CommitDate"}[key], value)
				}
			}
			fmt.Fprintf(a.Out, "  GoVersion: %s\n  Platform: %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
	cmd.Flags().BoolVar(&short, "short", false, "just the version")
	return cmd
}

func buildSetting(key string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
