package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/hazard"
	"github.com/sluice-delivery/sluice/internal/sim/play"
	"github.com/sluice-delivery/sluice/internal/view"
)

// simulation is what the flags of the command say.
type simulation struct {
	files    []string
	deep     bool
	images   []string
	startup  time.Duration
	replicas int32
	scenario string
	expect   []string
	stop     bool
	output   string
	// notifications is the file with their ConfigMap, secret that with its Secret.
	notifications, secret string
}

func (a *app) simulateCommand() *cobra.Command {
	var s simulation
	cmd := &cobra.Command{
		Use:   "simulate (-f FILE... [NAME] | NAME --image CONTAINER=IMAGE)",
		Short: "Simulate an update before it runs",
		Long: `Plays an update in virtual time and shows what will happen: when each step starts, how many pods each version has, how traffic is
split, what the update waits for, how long it takes, the most pods that exist at once, and the fewest that can serve.

The simulation runs Sluice's own engine. It reads the Rollout and the Services, AnalysisTemplates, and workloads that it refers to from
files or, if you give only a NAME, from the cluster, and changes nothing there. If the files contain several Rollouts, NAME selects one.
Pods become ready after --pod-startup. Measurements pass unless the scenario says otherwise; they are scheduled and judged as in the
cluster.

A scenario contains lines such as these. Times count from the start of the update:

  at 2m scale 20
  at 3m image web=v3
  at 4m promote            # also promote-full, abort, retry, undo, pause, resume, restart
  at 5m fail metric error-rate             # also pass, inconclusive, error, nodata
  at 6m value metric error-rate 0.2        # judged by the metric's conditions
  at 6m takes metric smoke-test 90s
  at 7m break pods         # of the current version; also crash pods, kill 2 pods, and mend pods
  at 8m load 14            # for the HorizontalPodAutoscaler: work for 14 pods
  at 9m delete service web-canary          # until: restore service web-canary

With --expect, the command fails unless a condition holds: promoted, aborted, healthy, degraded, paused, or a comparison of duration,
max-pods, or min-capacity, such as 'duration<20m'. The exit status is then 2. It is 1 if the update could not be simulated.

With --notifications, it also shows which messages the Rollout's subscriptions would produce, rendered from the ConfigMap in a file. That needs
the program sluice-notifier. Subscriptions of AnalysisRuns and Experiments are not simulated.`,
		Example: a.examples(`
			{} simulate -f web.yaml
			# What if error-rate fails after five minutes
			{} simulate -f deploy/ --scenario bad.txt --expect aborted --expect 'min-capacity>=8'
			# A rollout of the cluster
			{} simulate web --image web=registry/web:2
			# With the notifications that it would send
			{} simulate -f web.yaml --notifications configmap.yaml
			# As a web page
			{} simulate -f web.yaml -o html > web.html`),
		RunE: func(cmd *cobra.Command, args []string) error { return a.simulate(cmd, args, s) },
	}
	f := cmd.Flags()
	f.StringSliceVarP(&s.files, "filename", "f", nil, "file or directory with the Rollout and the objects that it refers to; - for standard input")
	f.BoolVarP(&s.deep, "recursive", "R", false, "recurse into subdirectories")
	f.StringArrayVar(&s.images, "image", nil, "image to update to, as CONTAINER=IMAGE")
	f.DurationVar(&s.startup, "pod-startup", 10*time.Second, "how long a pod takes to become ready")
	f.Int32Var(&s.replicas, "replicas", 0, "number of pods to simulate (default: the Rollout's spec.replicas)")
	f.StringVar(&s.scenario, "scenario", "", "scenario file")
	f.StringArrayVar(&s.expect, "expect", nil, "fail unless this condition holds, such as promoted or 'duration<20m'")
	f.BoolVar(&s.stop, "stop-at-pauses", false, "stop at pauses that wait for a promotion")
	f.StringVar(&s.notifications, "notifications", "", "file with the ConfigMap of notifications: show which messages the update would lead to")
	f.StringVar(&s.secret, "notifications-secret", "", "file with the Secret of notifications, for --notifications (default: no secrets)")
	f.StringVarP(&s.output, "output", "o", "text", "output format: text, json, html for a self-contained page, or svg for the chart")
	return cmd
}

func (a *app) simulate(cmd *cobra.Command, args []string, s simulation) error {
	if !slices.Contains([]string{"text", "json", "html", "svg"}, s.output) {
		return fmt.Errorf("--output %q is not one of text, json, html, svg", s.output)
	}
	if s.notifications != "" && s.output != "text" && s.output != "json" {
		return fmt.Errorf("--output %s does not show messages: use text or json with --notifications", s.output)
	}
	if s.secret != "" && s.notifications == "" {
		return errors.New("--notifications-secret is for --notifications: give that, too")
	}
	expectations := make([]play.Expectation, len(s.expect))
	for i, text := range s.expect {
		var err error
		if expectations[i], err = play.Expect(text); err != nil {
			return fmt.Errorf("--expect: %w", err)
		}
	}
	stage, err := a.stage(cmd, args, s)
	if err != nil {
		return err
	}
	var told recording
	if s.notifications != "" {
		stage.Tell = told.add
	}
	played, err := play.Play(stage)
	if err != nil {
		for _, w := range stage.Warnings { // they may be why
			a.tell("warning: %s\n", w)
		}
		return err
	}
	for _, h := range hazard.Of(stage.Written()) {
		played.Warnings = append(played.Warnings, h.String())
	}
	if s.notifications != "" {
		if err := a.addMessages(cmd.Context(), &played, &told, s); err != nil {
			return err
		}
	}
	if err := a.tellSimulation(played, s.output); err != nil {
		return err
	}
	var failed []error
	for _, e := range expectations {
		failed = append(failed, e.Check(played.Summary))
	}
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	if len(failed) > 0 {
		return &unmetError{failed}
	}
	return nil
}

// expectationUnmet is the exit status where the update was played, and something is not as --expect has it.
const expectationUnmet = 2

// unmetError is all that is not as expected.
type unmetError struct{ all []error }

func (e *unmetError) Error() string   { return errors.Join(e.all...).Error() }
func (e *unmetError) Unwrap() []error { return e.all }

func (a *app) tellSimulation(s view.Simulation, output string) error {
	switch output {
	case "json":
		text, err := json.MarshalIndent(s, "", "  ")
		a.print("%s\n", text)
		return err
	case "html":
		page, err := s.HTML()
		a.print("%s", page)
		return err
	case "svg":
		a.print("%s", s.SVG())
		return nil
	}
	screen := live.NewScreen(a.Out, false)
	options := view.TextOptions{Colors: screen.Colors}
	if screen.Terminal() {
		options.Width, _ = screen.Size()
	}
	_, err := io.WriteString(a.Out, s.Text(options)) // package view has escaped what it draws, and print would escape the colors
	return err
}
