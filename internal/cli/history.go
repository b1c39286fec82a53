package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/view"
)

func (a *app) historyCommand() *cobra.Command {
	var (
		revision int64
		limit    int
		out      output
	)
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the revisions of a rollout",
		Long: `Lists the revisions of a rollout, newest first, with their roles, pods, and images. Use undo to return to one of them. A
template that comes back gets a new number; its earlier numbers are listed with it.

With --revision, the command prints the pod template of one revision.`,
		Example: a.examples(`
			{} history web
			{} history web --revision 3
			# Return to it
			{} undo web --to-revision 3`),
		Args:              rollouts.one,
		ValidArgsFunction: a.completeOne(rollouts),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			c, err := a.connect()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			ro, err := c.Rollout(ctx, args[0])
			if err != nil {
				return missing(ctx, c, args[0], err)
			}
			sets, err := c.ReplicaSets(ctx, ro)
			if err != nil {
				return err
			}
			if revision > 0 {
				rs, err := act.ChooseRevision(ro.Name, sets, revision)
				if err != nil {
					return err
				}
				if !out.set() {
					out.format = outputYAML
				}
				return out.write(a, act.OriginalTemplate(rs))
			}
			revisions := a.revisions(ro, sets)
			if limit > 0 && len(revisions) > limit {
				revisions = revisions[:limit]
			}
			if out.set() {
				return out.write(a, revisions)
			}
			a.printRevisions(ro, revisions)
			return nil
		},
	}
	f := cmd.Flags()
	f.Int64Var(&revision, "revision", 0, "print the pod template of this revision")
	_ = cmd.RegisterFlagCompletionFunc("revision", a.completeRevisions) // fails for unknown flags only
	f.IntVar(&limit, "limit", 0, "maximum number of revisions to list; 0 lists all")
	out.flag(cmd, outputJSON, outputYAML)
	return cmd
}

// revision is one of those that are kept.
type revision struct {
	Number int64 `json:"revision"`
	// Earlier are the numbers that the same template had before.
	Earlier    string   `json:"earlierRevisions,omitempty"`
	ReplicaSet string   `json:"replicaSet"`
	Hash       string   `json:"podTemplateHash"`
	Roles      []string `json:"roles,omitempty"`
	Available  int32    `json:"availableReplicas"`
	Desired    int32    `json:"replicas"`
	Images     []string `json:"images"`
	Age        string   `json:"age"`
}

func (a *app) revisions(ro *v1alpha1.Rollout, sets []*appsv1.ReplicaSet) []revision {
	earlier := map[string]string{}
	for _, rs := range sets {
		earlier[rs.Name] = rs.Annotations[v1alpha1.RevisionHistoryAnnotation]
	}
	var all []revision
	for _, r := range view.Of(view.Objects{Rollout: ro, ReplicaSets: sets}, a.clock.Now()).Revisions {
		for _, rs := range r.ReplicaSets {
			one := revision{
				Number: r.Number, Earlier: earlier[rs.Name], ReplicaSet: rs.Name, Hash: rs.Hash,
				Available: rs.Available, Desired: rs.Desired, Images: rs.Images, Age: view.Age(rs.Age),
			}
			for _, tag := range rs.Tags {
				one.Roles = append(one.Roles, string(tag))
			}
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b revision) int { return cmp.Compare(b.Number, a.Number) })
	return all
}

func (a *app) printRevisions(ro *v1alpha1.Rollout, revisions []revision) {
	if len(revisions) == 0 {
		a.tell("Rollout '%s' has no revisions yet.\n", ro.Name)
		return
	}
	var rows [][]string
	for _, r := range revisions {
		number := fmt.Sprint(r.Number)
		if r.Earlier != "" {
			number += fmt.Sprintf(" (was %s)", r.Earlier)
		}
		rows = append(rows, []string{
			number, r.ReplicaSet, orDash(strings.Join(r.Roles, ",")), fmt.Sprintf("%d/%d", r.Available, r.Desired), r.Age, strings.Join(r.Images, ","),
		})
	}
	a.table([]string{"REVISION", "REPLICASET", "ROLE", "PODS", "AGE", "IMAGES"}, rows)
}
