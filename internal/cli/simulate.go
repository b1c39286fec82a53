package cli

import (
	"encoding/json"
	"errors"
	"fmt"
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
}

func (a *app) simulateCommand() *cobra.Command {
	var s simulation
	cmd := &cobra.Command{
		Use:   "simulate (-f FILE... [NAME] | NAME --image CONTAINER=IMAGE)",
		Short: "See how an update would go, before it runs",
		Long: `Plays an update in virtual time and tells what will happen: when each step begins, how many pods each version has, who gets the
traffic, what is waited for, how long it takes, how many pods there are at most and how many can serve at least.

What decides is Sluice's own engine. The Rollout, and the Services, AnalysisTemplates and workloads that it names, come from files or,
with a NAME alone, from the cluster, in which nothing is changed. With files a NAME says which Rollout, if they have several. Pods take
--pod-startup to become ready. Measurements are good unless the scenario says otherwise; when they are made and how they are judged is
as in the cluster.

A scenario has lines such as these, with times since the update began:

  at 2m scale 20
  at 3m image web=v3
  at 4m promote            # also promote-full, abort, retry, undo, pause, resume, restart
  at 5m fail metric error-rate             # also pass, inconclusive, error, nodata
  at 6m value metric error-rate 0.2        # judged by the metric's conditions
  at 6m takes metric smoke-test 90s
  at 7m break pods         # of the current version; also crash pods, kill 2 pods, and mend pods
  at 8m load 14            # for the HorizontalPodAutoscaler: work for 14 pods
  at 9m delete service web-canary          # until: restore service web-canary

--expect fails the command where something is not so: promoted, aborted, healthy, degraded, paused, or a comparison of duration,
max-pods or min-capacity, such as 'duration<20m'. The exit status is 2 then, and 1 where the update could not be played.`,
		Example: a.examples(`
			{} simulate -f web.yaml
			# What if error-rate fails after five minutes
			{} simulate -f deploy/ --scenario bad.txt --expect aborted --expect 'min-capacity>=8'
			# A rollout of the cluster
			{} simulate web --image web=registry/web:2
			# One page to look at
			{} simulate -f web.yaml -o html > web.html`),
		RunE: func(cmd *cobra.Command, args []string) error { return a.simulate(cmd, args, s) },
	}
	f := cmd.Flags()
	f.StringSliceVarP(&s.files, "filename", "f", nil, "file, or folder of files, with the Rollout and what it names; - for the standard input")
	f.BoolVarP(&s.deep, "recursive", "R", false, "look into the folders of folders too")
	f.StringArrayVar(&s.images, "image", nil, "what to update to, as CONTAINER=IMAGE")
	f.DurationVar(&s.startup, "pod-startup", 10*time.Second, "how long a pod takes to become ready")
	f.Int32Var(&s.replicas, "replicas", 0, "play with another number of pods (default: what the Rollout says)")
	f.StringVar(&s.scenario, "scenario", "", "file with what happens meanwhile")
	f.StringArrayVar(&s.expect, "expect", nil, "fail unless this is so, for example promoted or 'duration<20m'")
	f.BoolVar(&s.stop, "stop-at-pauses", false, "end where a person would have to promote")
	f.StringVarP(&s.output, "output", "o", "text", "how to tell it: text, json, html for one page that needs nothing else, or svg for the picture alone")
	return cmd
}

func (a *app) simulate(cmd *cobra.Command, args []string, s simulation) error {
	if !slices.Contains([]string{"text", "json", "html", "svg"}, s.output) {
		return fmt.Errorf("--output %q is not one of text, json, html, svg", s.output)
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
	options := view.TextOptions{Colours: screen.Colours}
	if screen.Terminal() {
		options.Width, _ = screen.Size()
	}
	a.print("%s", s.Text(options))
	return nil
}
