// Command docs writes a page for each command of the command line, from what the commands say of themselves.
//
// It is given the folder, which it empties of pages before: those of commands that are gone must not stay.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-delivery/sluice/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: docs FOLDER")
		os.Exit(2)
	}
	if err := writeAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func writeAll(folder string) error {
	old, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		return err
	}
	for _, page := range old {
		if err := os.Remove(page); err != nil {
			return err
		}
	}
	root := cli.Command()
	root.InitDefaultCompletionCmd()
	var index strings.Builder
	index.WriteString("# Commands\n\n" +
		"The same program answers as `sluice`, `kubectl sluice` and, for scripts that know that name, `kubectl argo rollouts`.\n\n" +
		"| command | what it does |\n|---|---|\n")
	var failures []error
	walk(root, func(cmd *cobra.Command) {
		name := pageName(cmd)
		fmt.Fprintf(&index, "| [%s](%s) | %s |\n", cmd.CommandPath(), name, cmd.Short)
		failures = append(failures, os.WriteFile(filepath.Join(folder, name), []byte(page(cmd)), 0o644))
	})
	fmt.Fprintf(&index, "\n## Flags of all commands\n\n%s", flags(root.PersistentFlags()))
	failures = append(failures, os.WriteFile(filepath.Join(folder, "README.md"), []byte(index.String()), 0o644))
	return errors.Join(failures...)
}

// walk calls visit with every command that can be run, groups that only have others below them left out.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	if cmd.Hidden || cmd.Name() == "help" {
		return
	}
	if cmd.HasParent() && (!cmd.HasAvailableSubCommands() || cmd.HasLocalFlags()) {
		visit(cmd)
	}
	for _, below := range cmd.Commands() {
		walk(below, visit)
	}
}

func pageName(cmd *cobra.Command) string {
	words := strings.Fields(cmd.CommandPath())[1:]
	return strings.Join(words, "-") + ".md"
}

func page(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s.\n", cmd.CommandPath(), cmd.Short)
	fmt.Fprintf(&b, "\n```\n%s\n```\n", cmd.UseLine())
	if cmd.Long != "" {
		fmt.Fprintf(&b, "\n%s\n", fenced(cmd.Long))
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\n## Examples\n\n```\n%s\n```\n", unindented(cmd.Example))
	}
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\n## Flags\n\n%s", flags(cmd.LocalFlags()))
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAlso: `%s`.\n", strings.Join(cmd.Aliases, "`, `"))
	}
	b.WriteString("\nThe flags of all commands are in [the list](README.md#flags-of-all-commands).\n")
	return b.String()
}

// fenced puts what is indented, such as lists in columns, into fences, or Markdown would run it together.
func fenced(text string) string {
	var lines []string
	inside := false
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
		if indented != inside && (indented || strings.TrimSpace(line) != "") {
			lines = append(lines, "```")
			inside = indented
			if !indented {
				lines = append(lines, "")
			}
		}
		if inside && strings.TrimSpace(line) == "" {
			continue
		}
		lines = append(lines, line)
	}
	if inside {
		lines = append(lines, "```")
	}
	return strings.Join(lines, "\n")
}

func unindented(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

func flags(set *pflag.FlagSet) string {
	var b strings.Builder
	b.WriteString("| flag | what it does |\n|---|---|\n")
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		text := strings.ReplaceAll(f.Usage, "|", `\|`)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && f.DefValue != "0s" {
			text += " (default `" + f.DefValue + "`)"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", name, text)
	})
	return b.String()
}
