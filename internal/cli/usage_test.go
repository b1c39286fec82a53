package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The help of a command shows the flags of that command; those that all have are shown by `options`.
func TestHelpShowsTheFlagsOfTheCommand(t *testing.T) {
	c := newCluster(t)
	var commands func(cmd *cobra.Command, path []string)
	commands = func(cmd *cobra.Command, path []string) {
		r := c.run(t.Context(), append(path, "--help")...)
		if r.code != 0 || r.err != "" || !strings.HasSuffix(r.out, "\nUse \"sluice options\" for a list of the flags that all commands have.\n") || strings.Contains(r.out, "--certificate-authority") {
			t.Errorf("%s: %+v", path, r)
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(r.out, "--"+f.Name) {
				t.Errorf("%s: does not show --%s:\n%s", path, f.Name, r.out)
			}
		})
		for _, below := range cmd.Commands() {
			if below.IsAvailableCommand() {
				if !strings.Contains(r.out, "\n  "+below.Name()+" ") {
					t.Errorf("%s: does not show the command %s:\n%s", path, below.Name(), r.out)
				}
				commands(below, append(path[:len(path):len(path)], below.Name()))
			}
		}
	}
	root := Command()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "notifications" && cmd.IsAvailableCommand() { // its help is that of another program
			commands(cmd, []string{cmd.Name()})
		}
	}
	r := c.run(t.Context(), "options")
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !strings.Contains(r.out, "--"+f.Name+" ") {
			t.Errorf("options does not show --%s:\n%s", f.Name, r.out)
		}
	})
}
