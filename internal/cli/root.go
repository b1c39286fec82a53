package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs the program and returns its exit code. args are those of the process, its own name first.
func Run(ctx context.Context, args []string, streams Streams) int {
	a := newApp(args[0], streams)
	args = args[1:]
	if a.completes {
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	return a.run(ctx, args)
}

// interrupted is what shells report for a program that Ctrl-C ended.
const interrupted = 130

func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(clean.Writer{To: a.Out})
	root.SetErr(clean.Writer{To: a.Err})
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return interrupted
	}
	if told := (*toldError)(nil); errors.As(err, &told) {
		return told.code
	}
	for _, line := range inWords(err) {
		a.tell("error: %s\n", line)
	}
	if unmet := (*unmetError)(nil); errors.As(err, &unmet) {
		return expectationUnmet
	}
	return 1
}

// app is what all commands share.
type app struct {
	Streams
	clock clock.WithTicker
	// command is the name of the program, display what users type for it.
	command, display string
	// completes is true for the program that kubectl asks for completions of its plugin.
	completes bool
	// connect finds the cluster that the flags mean.
	connect func() (live.Client, error)
	flags   connection
	// klogLevel is how much the Kubernetes libraries log.
	klogLevel int
}

func newApp(program string, streams Streams) *app {
	a := &app{Streams: streams, clock: clock.RealClock{}}
	a.connect = a.flags.client(clean.Writer{To: streams.Err})
	switch name := strings.TrimSuffix(filepath.Base(program), ".exe"); name {
	case "kubectl-argo-rollouts":
		a.command, a.display = name, "kubectl argo rollouts"
	case "kubectl_complete-argo-rollouts":
		a.command, a.display, a.completes = "kubectl-argo-rollouts", "kubectl argo rollouts", true
	case "kubectl-sluice":
		a.command, a.display = name, "kubectl sluice"
	case "kubectl_complete-sluice":
		a.command, a.display, a.completes = "kubectl-sluice", "kubectl sluice", true
	default:
		a.command, a.display = "sluice", "sluice"
	}
	return a
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:         a.command,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: a.display},
		Short:       "Manage Rollouts: canary and blue-green updates in Kubernetes",
		Example: a.examples(`
			# Watch an update
			{} get rollout web -w
			# Start one
			{} set image web nginx=nginx:1.16
			# Continue after a pause
			{} promote web
			# Return to the stable version
			{} abort web`),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(usage)
	root.AddCommand(
		a.getCommand(), a.listCommand(), a.statusCommand(), a.waitCommand(), a.explainCommand(),
		a.historyCommand(), a.diffCommand(),
		a.promoteCommand(), a.abortCommand(), a.retryCommand(), a.pauseCommand(), a.restartCommand(), a.undoCommand(), a.setCommand(),
		a.createCommand(), a.terminateCommand(), a.lintCommand(), a.simulateCommand(), a.analysisCommand(),
		a.dashboardCommand(), a.notificationsCommand(), a.versionCommand(), a.optionsCommand(),
	)
	a.flags.add(root)
	_ = root.RegisterFlagCompletionFunc("namespace", a.completeNamespaces) // fails for unknown flags only
	a.logFlags(root.PersistentFlags())
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return a.startLog() }
	return root
}

// group is a command that only has others below it.
func (a *app) group(use, short string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%s what? See '%s --help'", cmd.CommandPath(), cmd.CommandPath())
			}
			return unknown("command", args[0], cmd.CommandPath(), cmd.SuggestionsFor(args[0]))
		},
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(children...)
	return cmd
}

// examples takes the indentation off and puts the program's name in.
func (a *app) examples(text string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		lines = append(lines, "  "+strings.TrimSpace(strings.ReplaceAll(line, "{}", a.display)))
	}
	return strings.Join(lines, "\n")
}

func (a *app) logFlags(f *pflag.FlagSet) {
	f.IntVarP(&a.klogLevel, "kloglevel", "v", 0, "log level for API requests (0-10)")
	f.String("loglevel", "info", "accepted for compatibility with existing scripts; has no effect")
}

// silence is of the Kubernetes libraries, which would write over the picture. They have one logger for the whole process.
var silence = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// startLog keeps the Kubernetes libraries silent unless they are asked to speak.
func (a *app) startLog() error {
	if a.klogLevel == 0 {
		silence()
		return nil
	}
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	klog.SetOutput(clean.Writer{To: a.Err})
	return flags.Set("v", strconv.Itoa(a.klogLevel))
}

// print writes a result, tell writes messages about it. Both escape what could steer a terminal, and ignore write errors. The pictures of rollouts, which
// steer the terminal, are cleaned by internal/view.
func (a *app) print(format string, args ...any) {
	_, _ = fmt.Fprintf(clean.Writer{To: a.Out}, format, args...)
}

func (a *app) tell(format string, args ...any) {
	_, _ = fmt.Fprintf(clean.Writer{To: a.Err}, format, args...)
}

// Command is the program's commands, for those who write about them.
func Command() *cobra.Command {
	return newApp("sluice", Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}).root()
}
