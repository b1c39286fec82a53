package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/spec"
)

func (a *app) undoCommand() *cobra.Command {
	var (
		revision int64
		dryRun   bool
	)
	cmd := &cobra.Command{
		Use:   "undo NAME",
		Short: "Return to an earlier revision",
		Long: `Copies the pod template of an earlier revision into the rollout, which starts an update to it. The command first shows what changes;
with --dry-run, it does nothing else.`,
		Example: a.examples(`
			# To the one before
			{} undo web
			{} undo web --to-revision 3`),
		Args:              rollouts.one,
		ValidArgsFunction: a.completeOne(rollouts),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd, args, func(ctx context.Context, c live.Client, name string) (string, error) {
				return a.undo(ctx, c, name, revision, dryRun)
			})
		},
	}
	cmd.Flags().Int64Var(&revision, "to-revision", 0, "revision to return to; 0 for the previous one")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only show what would change")
	return cmd
}

func (a *app) undo(ctx context.Context, c live.Client, name string, revision int64, dryRun bool) (string, error) {
	ro, err := c.Rollout(ctx, name)
	if err != nil {
		return "", err
	}
	sets, err := c.ReplicaSets(ctx, ro)
	if err != nil {
		return "", err
	}
	rs, err := chooseRevision(name, sets, revision)
	if err != nil {
		return "", err
	}
	wanted, err := wantedTemplate(ctx, c, name)
	if err != nil {
		return "", err
	}
	a.tell("%s\n", undoing(ro, rs, wanted))
	if dryRun {
		return fmt.Sprintf("rollout '%s' would be undone to revision %d (dry run)", name, revisionOf(rs)), nil
	}
	holder, err := holderOf(ctx, c, name)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal([]any{fields{"op": "replace", "path": "/spec/template", "value": originalTemplate(rs)}})
	if err != nil {
		return "", err
	}
	if _, err := holder.client.Patch(ctx, holder.object.GetName(), types.JSONPatchType, body, metav1.PatchOptions{}); err != nil {
		return "", err
	}
	return fmt.Sprintf("rollout '%s' undone to revision %d", name, revisionOf(rs)), nil
}

// undoing says what returning to a version will change, and how.
func undoing(ro *v1alpha1.Rollout, rs *appsv1.ReplicaSet, now *corev1.PodTemplateSpec) string {
	text := fmt.Sprintf("Rollout '%s' returns to revision %d", ro.Name, revisionOf(rs))
	if changes := imageChanges(now, &rs.Spec.Template); len(changes) > 0 {
		text += ": " + join(changes)
	}
	stable := ro.Status.StableRS != "" && rs.Labels[v1alpha1.PodTemplateHashLabel] == ro.Status.StableRS
	switch {
	case spec.SameTemplate(now, spec.Bare(rs)):
		return fmt.Sprintf("Rollout '%s' has the template of revision %d already: nothing changes.", ro.Name, revisionOf(rs))
	case stable:
		return text + ". That is the stable version: it takes over again at once."
	case ro.Spec.Strategy.Canary != nil && len(ro.Spec.Strategy.Canary.Steps) > 0:
		return text + ". An update to it begins, with its first step."
	}
	return text + ". An update to it begins."
}

// imageChanges are the containers that get other images.
func imageChanges(from, to *corev1.PodTemplateSpec) []string {
	images := map[string]string{}
	for _, c := range slices.Concat(from.Spec.InitContainers, from.Spec.Containers) {
		images[c.Name] = c.Image
	}
	var changes []string
	for _, c := range slices.Concat(to.Spec.InitContainers, to.Spec.Containers) {
		if was := images[c.Name]; was != c.Image && was != "" {
			changes = append(changes, fmt.Sprintf("%s from %s to %s", c.Name, was, c.Image))
		}
	}
	return changes
}

// chooseRevision is the ReplicaSet of the revision, or of the one before the newest.
func chooseRevision(rollout string, sets []*appsv1.ReplicaSet, revision int64) (*appsv1.ReplicaSet, error) {
	slices.SortFunc(sets, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revisionOf(b), revisionOf(a)) })
	if revision == 0 {
		if len(sets) < 2 {
			return nil, fmt.Errorf("rollout '%s' has no revision before the current one", rollout)
		}
		return sets[1], nil
	}
	var known []string
	for _, rs := range sets {
		if revisionOf(rs) == revision {
			return rs, nil
		}
		known = append(known, strconv.FormatInt(revisionOf(rs), 10))
	}
	return nil, fmt.Errorf("rollout '%s' has no revision %d; it has %s", rollout, revision, join(known))
}

func revisionOf(rs *appsv1.ReplicaSet) int64 {
	n, _ := strconv.ParseInt(rs.Annotations[v1alpha1.RevisionAnnotation], 10, 64) // none counts as 0, the oldest
	return n
}

// originalTemplate is the template as the user wrote it: without what the controller has put on it.
func originalTemplate(rs *appsv1.ReplicaSet) *corev1.PodTemplateSpec {
	template := spec.Bare(rs)
	delete(template.Labels, v1alpha1.PodTemplateHashLabel)
	return template
}
