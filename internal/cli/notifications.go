package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

const (
	// notifier is the program that has the services, templates and triggers. It is another one than this, which would otherwise be built with the
	// clients of twenty services (docs/design/notifier.md).
	notifier = "sluice-notifier"
	// notifierDisplay is the variable that tells it what the user typed.
	notifierDisplay = "SLUICE_NOTIFICATIONS_DISPLAY"
)

func (a *app) notificationsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "notifications (template|trigger|send|lint)",
		Short: "Show and try out notification templates and triggers",
		Long: `Shows the templates and triggers of notifications, tries them out on a Rollout, and checks their ConfigMap. This command runs the program
sluice-notifier, which must be next to this one or in the PATH, and passes all arguments to it.

With 'send --dry-run' it shows which messages a Rollout's subscriptions produce now. 'simulate --notifications' shows those of a whole update.`,
		Example: a.examples(`
			{} notifications template get
			{} notifications template notify rollout-completed web --recipient slack:my-channel
			{} notifications trigger run on-rollout-completed web
			# Which messages would go where
			{} notifications send web --dry-run
			# Check a ConfigMap before you apply it
			{} notifications lint --config-map configmap.yaml --secret :empty`),
		DisableFlagParsing: true,
		ValidArgsFunction:  a.completeNotifications,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runNotifier(cmd.Context(), args, a.In, a.Out)
		},
	}
}

// completeNotifications has the notifier complete its arguments.
func (a *app) completeNotifications(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
	var answer bytes.Buffer
	quiet := *a
	quiet.Err = io.Discard
	arguments := slices.Concat([]string{cobra.ShellCompRequestCmd}, given, []string{begun})
	if err := quiet.runNotifier(cmd.Context(), arguments, strings.NewReader(""), &answer); err != nil {
		return nil, noFiles
	}
	lines := strings.Split(strings.TrimSuffix(answer.String(), "\n"), "\n")
	last := len(lines) - 1
	directive, err := strconv.Atoi(strings.TrimPrefix(lines[last], ":"))
	if err != nil {
		return nil, noFiles
	}
	return lines[:last], cobra.ShellCompDirective(directive)
}

// runNotifier runs the notifier's program.
func (a *app) runNotifier(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	program, err := findNotifier()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, a.Err
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s notifications", notifierDisplay, a.display))
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return &toldError{exit.ExitCode()}
	}
	return err
}

// toldError is of a program that has said itself what is wrong.
type toldError struct{ code int }

func (e *toldError) Error() string { return fmt.Sprintf("%s ended with %d", notifier, e.code) }

// findNotifier looks next to this program, then in the PATH.
func findNotifier() (string, error) {
	name := notifier
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	var looked []string
	if own, err := os.Executable(); err == nil {
		if own, err = filepath.EvalSymlinks(own); err == nil {
			looked = append(looked, filepath.Dir(own))
			if beside, err := exec.LookPath(filepath.Join(filepath.Dir(own), name)); err == nil {
				return beside, nil
			}
		}
	}
	program, err := exec.LookPath(name)
	if err == nil {
		return program, nil
	}
	looked = append(looked, "the PATH")
	return "", fmt.Errorf("notifications need the program %s, which is not in %s: install it from the same release as this program", name, strings.Join(looked, " or in "))
}
