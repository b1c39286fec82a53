package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/view"
)

func (a *app) listCommand() *cobra.Command {
	return a.group("list", "List rollouts or experiments", a.listRolloutsCommand(), a.listExperimentsCommand())
}

func (a *app) listRolloutsCommand() *cobra.Command {
	l := listing{app: a, kind: rollouts}
	cmd := &cobra.Command{
		Use:     "rollouts",
		Aliases: []string{"ro", "rollout"},
		Short:   "List rollouts",
		Long: `Lists the rollouts in a namespace, or in all namespaces.

With -w, the command prints a line for each change until you press Ctrl-C.`,
		Example: a.examples(`
			{} list rollouts
			{} list rollouts --all-namespaces
			{} list rollouts -w --timestamps`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd, l, live.Client.RolloutList, rolloutColumns, rolloutWide, a.rolloutCells)
		},
	}
	l.flags(cmd)
	cmd.Flags().BoolVarP(&l.watch, "watch", "w", false, "watch for changes, one line each")
	cmd.Flags().BoolVar(&l.timestamps, "timestamps", false, "with -w: start each line with the time")
	cmd.Flags().StringVar(&l.name, "name", "", "list only the rollout with this name")
	return cmd
}

func (a *app) listExperimentsCommand() *cobra.Command {
	l := listing{app: a, kind: experiments}
	cmd := &cobra.Command{
		Use:     "experiments",
		Aliases: []string{"exp", "experiment"},
		Short:   "List experiments",
		Example: a.examples(`
			{} list experiments
			{} list experiments --all-namespaces`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd, l, live.Client.ExperimentList, experimentColumns, experimentWide, a.experimentCells)
		},
	}
	l.flags(cmd)
	return cmd
}

var rolloutColumns = []string{"NAME", "STRATEGY", "STATUS", "STEP", "SET-WEIGHT", "READY", "DESIRED", "UP-TO-DATE", "AVAILABLE"}

// rolloutWide are the columns that only --output wide has.
var rolloutWide = []string{"AGE", "IMAGES", "MESSAGE"}

func (a *app) rolloutCells(wide bool) func(*v1alpha1.Rollout) []string {
	return func(ro *v1alpha1.Rollout) []string {
		r := view.Of(view.Objects{Rollout: ro}, a.clock.Now())
		step, weight := "-", "-"
		if r.Strategy == view.Canary {
			weight = fmt.Sprint(r.SetWeight)
			if len(r.Steps) > 0 {
				step = fmt.Sprintf("%d/%d", r.StepsDone, len(r.Steps))
			}
		}
		cells := []string{
			r.Name, string(r.Strategy), r.Status.Text, step, weight, fmt.Sprintf("%d/%d", r.Replicas.Ready, r.Replicas.Current),
			fmt.Sprint(r.Replicas.Desired), fmt.Sprint(r.Replicas.Updated), fmt.Sprint(r.Replicas.Available),
		}
		if !wide {
			return cells
		}
		return append(cells, view.Age(r.Age), orDash(templateImages(&ro.Spec.Template)), orDash(r.Status.Message))
	}
}

// templateImages are the images of a template's containers.
func templateImages(t *corev1.PodTemplateSpec) string {
	var images []string
	for i := range t.Spec.Containers {
		images = append(images, t.Spec.Containers[i].Image)
	}
	return strings.Join(images, ",")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

var experimentColumns = []string{"NAME", "STATUS", "DURATION", "REMAINING", "AGE"}

// experimentWide are the columns that only --output wide has.
var experimentWide = []string{"MESSAGE"}

func (a *app) experimentCells(wide bool) func(*v1alpha1.Experiment) []string {
	return func(exp *v1alpha1.Experiment) []string {
		e := view.ExperimentOf(view.Objects{Experiment: exp}, a.clock.Now())
		length, remaining := "-", "-"
		if e.Duration > 0 {
			length = view.Human(e.Duration)
		}
		if e.Run != nil && !e.Over() {
			remaining = view.Human(e.Run.Remaining())
		}
		cells := []string{e.Name, e.Status.Text, length, remaining, view.Age(e.Age)}
		if !wide {
			return cells
		}
		return append(cells, orDash(e.Status.Message))
	}
}
