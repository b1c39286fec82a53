package act

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Undo is the return of a Rollout to an earlier revision.
type Undo struct {
	// Text says what will change, and how.
	Text     string
	Revision int64
	rollout  string
	template *corev1.PodTemplateSpec
}

// UndoTo is the return to a revision, 0 for the previous one.
func UndoTo(ctx context.Context, c live.Client, name string, revision int64) (Undo, error) {
	ro, err := c.Rollout(ctx, name)
	if err != nil {
		return Undo{}, err
	}
	sets, err := c.ReplicaSets(ctx, ro)
	if err != nil {
		return Undo{}, err
	}
	rs, err := ChooseRevision(name, sets, revision)
	if err != nil {
		return Undo{}, err
	}
	wanted, err := WantedTemplate(ctx, c, name)
	if err != nil {
		return Undo{}, err
	}
	return Undo{Text: undoing(ro, rs, wanted), Revision: RevisionOf(rs), rollout: name, template: OriginalTemplate(rs)}, nil
}

// Template is that of the revision, as the user wrote it.
func (u Undo) Template() *corev1.PodTemplateSpec { return u.template }

// Do copies the template of the revision into the object that holds the Rollout's.
func (u Undo) Do(ctx context.Context, c live.Client) error {
	holder, err := HolderOf(ctx, c, u.rollout)
	if err != nil {
		return err
	}
	body, err := json.Marshal([]any{Fields{"op": "replace", "path": "/spec/template", "value": u.template}})
	if err != nil {
		return err
	}
	_, err = holder.Client.Patch(ctx, holder.Object.GetName(), types.JSONPatchType, body, metav1.PatchOptions{})
	return err
}

// undoing says what returning to a version will change, and how.
func undoing(ro *v1alpha1.Rollout, rs *appsv1.ReplicaSet, now *corev1.PodTemplateSpec) string {
	text := fmt.Sprintf("Rollout '%s' returns to revision %d", ro.Name, RevisionOf(rs))
	if changes := imageChanges(now, &rs.Spec.Template); len(changes) > 0 {
		text += ": " + joined(changes)
	}
	stable := ro.Status.StableRS != "" && rs.Labels[v1alpha1.PodTemplateHashLabel] == ro.Status.StableRS
	switch {
	case spec.SameTemplate(now, spec.Bare(rs)):
		return fmt.Sprintf("Rollout '%s' has the template of revision %d already: nothing changes.", ro.Name, RevisionOf(rs))
	case stable:
		return text + ". This is the stable version, so it takes over again immediately."
	case ro.Spec.Strategy.Canary != nil && len(ro.Spec.Strategy.Canary.Steps) > 0:
		return text + ". This starts an update at the first step."
	}
	return text + ". This starts an update."
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

// ChooseRevision is the ReplicaSet of the revision, or of the one before the newest.
func ChooseRevision(rollout string, sets []*appsv1.ReplicaSet, revision int64) (*appsv1.ReplicaSet, error) {
	slices.SortFunc(sets, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(RevisionOf(b), RevisionOf(a)) })
	if revision == 0 {
		if len(sets) < 2 {
			return nil, fmt.Errorf("rollout '%s' has no revision before the current one", rollout)
		}
		return sets[1], nil
	}
	var known []string
	for _, rs := range sets {
		if RevisionOf(rs) == revision {
			return rs, nil
		}
		known = append(known, strconv.FormatInt(RevisionOf(rs), 10))
	}
	return nil, fmt.Errorf("rollout '%s' has no revision %d; it has %s", rollout, revision, joined(known))
}

// RevisionOf is the number of a ReplicaSet.
func RevisionOf(rs *appsv1.ReplicaSet) int64 {
	n, _ := strconv.ParseInt(rs.Annotations[v1alpha1.RevisionAnnotation], 10, 64) // none counts as 0, the oldest
	return n
}

// OriginalTemplate is the template as the user wrote it: without what the controller has put on it.
func OriginalTemplate(rs *appsv1.ReplicaSet) *corev1.PodTemplateSpec {
	template := spec.Bare(rs)
	delete(template.Labels, v1alpha1.PodTemplateHashLabel)
	return template
}
