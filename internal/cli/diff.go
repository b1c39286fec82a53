package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/spec"
)

func (a *app) diffCommand() *cobra.Command {
	var from, to int64
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what an update changes in the pod template",
		Long: `Shows what the current update changes: the pod template of the stable version compared with the one in the spec.
Use --from-revision and --to-revision to compare other revisions.`,
		Example: a.examples(`
			{} diff web
			{} diff web --from-revision 3 --to-revision 5`),
		Args:              rollouts.one,
		ValidArgsFunction: a.completeOne(rollouts),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			before, after, err := compared(cmd.Context(), c, args[0], from, to)
			if err != nil {
				return missing(cmd.Context(), c, args[0], err)
			}
			text, err := difference(before, after)
			if err != nil {
				return err
			}
			if text == "" {
				a.tell("%s and %s have the same pod template.\n", before.name, after.name)
				return nil
			}
			a.print("%s", text)
			return nil
		},
	}
	cmd.Flags().Int64Var(&from, "from-revision", 0, "revision to compare from; defaults to the stable version")
	cmd.Flags().Int64Var(&to, "to-revision", 0, "revision to compare to; defaults to the spec")
	return cmd
}

// version is a pod template and what to call it.
type version struct {
	name     string
	template *corev1.PodTemplateSpec
}

// compared are the two versions to compare.
func compared(ctx context.Context, c live.Client, name string, from, to int64) (before, after version, err error) {
	ro, err := c.Rollout(ctx, name)
	if err != nil {
		return before, after, err
	}
	sets, err := c.ReplicaSets(ctx, ro)
	if err != nil {
		return before, after, err
	}
	if before, err = revisionOrStable(ro, sets, from); err != nil {
		return before, after, err
	}
	if to > 0 {
		rs, err := chooseRevision(name, sets, to)
		if err != nil {
			return before, after, err
		}
		return before, versionOf(rs), nil
	}
	wanted, err := wantedTemplate(ctx, c, name)
	if err != nil {
		return before, after, err
	}
	for _, rs := range sets { // which has the API server's defaults filled in, as the other side
		if spec.SameTemplate(wanted, spec.Bare(rs)) {
			return before, versionOf(rs), nil
		}
	}
	return before, version{"what the spec asks for, without defaults", wanted}, nil
}

func versionOf(rs *appsv1.ReplicaSet) version {
	return version{fmt.Sprintf("revision %d", revisionOf(rs)), originalTemplate(rs)}
}

func revisionOrStable(ro *v1alpha1.Rollout, sets []*appsv1.ReplicaSet, number int64) (version, error) {
	if number > 0 {
		rs, err := chooseRevision(ro.Name, sets, number)
		if err != nil {
			return version{}, err
		}
		return versionOf(rs), nil
	}
	for _, rs := range sets {
		if ro.Status.StableRS != "" && rs.Labels[v1alpha1.PodTemplateHashLabel] == ro.Status.StableRS {
			v := versionOf(rs)
			v.name += " (stable)"
			return v, nil
		}
	}
	return version{}, fmt.Errorf("rollout '%s' has no stable version yet, with which another one could be compared", ro.Name)
}

// wantedTemplate is the pod template that the spec asks for, of whatever object holds it.
func wantedTemplate(ctx context.Context, c live.Client, rollout string) (*corev1.PodTemplateSpec, error) {
	holder, err := holderOf(ctx, c, rollout)
	if err != nil {
		return nil, err
	}
	object, _, err := unstructured.NestedMap(holder.object.Object, "spec", "template")
	if err != nil {
		return nil, fmt.Errorf("pod template of rollout '%s': %w", rollout, err)
	}
	var template corev1.PodTemplateSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &template); err != nil {
		return nil, fmt.Errorf("pod template of rollout '%s': %w", rollout, err)
	}
	return &template, nil
}

// difference is what is different, as a unified diff of YAML; empty if nothing is.
func difference(before, after version) (string, error) {
	a, err := yaml.Marshal(before.template)
	if err != nil {
		return "", err
	}
	b, err := yaml.Marshal(after.template)
	if err != nil {
		return "", err
	}
	const around = 3
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: slices.Collect(strings.Lines(string(a))), FromFile: before.name,
		B: slices.Collect(strings.Lines(string(b))), ToFile: after.name,
		Context: around,
	})
}
