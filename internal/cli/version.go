package cli

import (
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
			a.print("%s: %s\n", a.command, buildinfo.Version())
			if short {
				return
			}
			if commit := buildSetting("vcs.revision"); commit != "" {
				a.print("  GitCommit: %s\n", commit)
			}
			a.print("  GoVersion: %s\n  Platform: %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
	cmd.Flags().BoolVar(&short, "short", false, "print only the version number")
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
