package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/view"
)

func (a *app) listCommand() *cobra.Command {
	return a.group("list", "List rollouts", a.listRolloutsCommand())
}

func (a *app) listRolloutsCommand() *cobra.Command {
	var (
		name string
		all  bool
	)
	cmd := &cobra.Command{
		Use:     "rollouts",
		Aliases: []string{"ro", "rollout"},
		Short:   "List the rollouts of a namespace",
		Example: a.examples(`
			{} list rollouts
			{} list rollouts --all-namespaces`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			if all {
				c.Namespace = ""
			}
			rollouts, err := c.RolloutList(cmd.Context())
			if err != nil {
				return err
			}
			var rows []view.Rollout
			for _, ro := range rollouts {
				if name == "" || ro.Name == name {
					rows = append(rows, view.Of(view.Objects{Rollout: ro}, a.clock.Now()))
				}
			}
			if len(rows) == 0 {
				where := fmt.Sprintf(" in namespace '%s'", c.Namespace)
				if all {
					where = ""
				}
				a.tell("No rollouts found%s.\n", where)
				return nil
			}
			return a.printRollouts(rows, all)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "only the rollout of this name")
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "of all namespaces")
	return cmd
}

func (a *app) printRollouts(rollouts []view.Rollout, namespaces bool) error {
	table := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	heading := "NAME\tSTRATEGY\tSTATUS\tSTEP\tSET-WEIGHT\tREADY\tDESIRED\tUP-TO-DATE\tAVAILABLE"
	if namespaces {
		heading = "NAMESPACE\t" + heading
	}
	lines := []string{heading}
	for _, r := range rollouts {
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
		if namespaces {
			cells = append([]string{r.Namespace}, cells...)
		}
		lines = append(lines, strings.Join(cells, "\t"))
	}
	if _, err := io.WriteString(table, strings.Join(lines, "\n")+"\n"); err != nil {
		return err
	}
	return table.Flush()
}
