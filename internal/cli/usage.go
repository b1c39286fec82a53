package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usage prints how to call a command. As with kubectl, the flags that all commands share have a command of their own, since they would hide
// those of the command.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAliases:\n  %s\n", cmd.NameAndAliases())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nAvailable Commands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", cmd.Commands()[0].NamePadding(), c.Name(), c.Short)
			}
		}
	}
	if flags := cmd.LocalFlags(); cmd.HasParent() && flags.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", flags.FlagUsages())
	}
	b.WriteString("\n")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "Use \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
	}
	fmt.Fprintf(&b, "Use \"%s options\" for a list of the flags that all commands have.\n", cmd.Root().CommandPath())
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}

// optionsCommand lists the flags that all commands share.
func (a *app) optionsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "options", Short: "List the flags that all commands have", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "All commands have these flags:\n\n%s", cmd.InheritedFlags().FlagUsages())
			return err
		},
	}
}
