package act

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Version is a pod template and what to call it.
type Version struct {
	Name     string
	Template *corev1.PodTemplateSpec
}

// Compared are the two versions to compare.
func Compared(ctx context.Context, c live.Client, name string, from, to int64) (before, after Version, err error) {
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
		rs, err := ChooseRevision(name, sets, to)
		if err != nil {
			return before, after, err
		}
		return before, versionOf(rs), nil
	}
	wanted, err := WantedTemplate(ctx, c, name)
	if err != nil {
		return before, after, err
	}
	for _, rs := range sets { // which has the API server's defaults filled in, as the other side
		if spec.SameTemplate(wanted, spec.Bare(rs)) {
			return before, versionOf(rs), nil
		}
	}
	return before, Version{"what the spec asks for, without defaults", wanted}, nil
}

func versionOf(rs *appsv1.ReplicaSet) Version {
	return Version{fmt.Sprintf("revision %d", RevisionOf(rs)), OriginalTemplate(rs)}
}

func revisionOrStable(ro *v1alpha1.Rollout, sets []*appsv1.ReplicaSet, number int64) (Version, error) {
	if number > 0 {
		rs, err := ChooseRevision(ro.Name, sets, number)
		if err != nil {
			return Version{}, err
		}
		return versionOf(rs), nil
	}
	for _, rs := range sets {
		if ro.Status.StableRS != "" && rs.Labels[v1alpha1.PodTemplateHashLabel] == ro.Status.StableRS {
			v := versionOf(rs)
			v.Name += " (stable)"
			return v, nil
		}
	}
	return Version{}, fmt.Errorf("rollout '%s' has no stable version yet, with which another one could be compared: name one with --from-revision", ro.Name)
}

// Difference is what is different, as a unified diff of YAML; empty if nothing is.
func Difference(before, after Version) (string, error) {
	a, err := yaml.Marshal(before.Template)
	if err != nil {
		return "", err
	}
	b, err := yaml.Marshal(after.Template)
	if err != nil {
		return "", err
	}
	const around = 3
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: slices.Collect(strings.Lines(string(a))), FromFile: before.Name,
		B: slices.Collect(strings.Lines(string(b))), ToFile: after.Name,
		Context: around,
	})
}
