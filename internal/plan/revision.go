package plan

import (
	"fmt"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/bluegreen"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// revise takes up what people did since the last pass: a new template or other steps begin an update, and the fields of the
// status that are theirs to set abort one, try it again or promote it in full.
func (p *pass) revise() {
	if p.update.Begins() {
		p.update.Begin(p.world.NewHash())
	}
	p.update.Obey()
	p.number()
}

// number gives the new version the highest revision. A version that comes back keeps a memory of the revisions it had.
func (p *pass) number() {
	revision := world.MaxRevision(p.world.Older()) + 1
	if p.world.New != nil {
		revision = max(revision, p.world.New.Revision)
	}
	p.update.Annotations[v1alpha1.RevisionAnnotation] = strconv.FormatInt(revision, 10)
	if p.update.Begun {
		p.journal.Event(v1alpha1.EventRolloutUpdated, "Rollout updated to revision %d", revision)
	}
	if p.world.New == nil {
		p.draft.Create = &change.CreateReplicaSet{ReplicaSet: p.newReplicaSet(revision)}
		return
	}
	p.refresh(revision)
}

// refresh keeps on the new version's ReplicaSet what follows the Rollout without making a new version.
func (p *pass) refresh(revision int64) {
	have := p.world.New
	want := map[string]string{}
	maps.Copy(want, have.Annotations)
	maps.Copy(want, p.inherited())
	want[v1alpha1.RevisionAnnotation] = strconv.FormatInt(revision, 10)
	if have.Revision != revision && have.Revision > 0 {
		want[v1alpha1.RevisionHistoryAnnotation] = appendRevision(have.Annotations[v1alpha1.RevisionHistoryAnnotation], have.Revision)
	}
	// An abort gives the new version a deadline of its own. When an update begins, an existing deadline is what makes it a fast rollback:
	// it is removed only once the status records that.
	if p.update.State() != progress.Aborted && !p.update.Begun {
		if b, ok := p.world.Spec.Strategy.(spec.BlueGreen); !ok || !bluegreen.New(p.world, p.update, p.restart, p.judge, b).HasSurplus() {
			draft.StopDelay(want)
		}
		delete(want, v1alpha1.OvertakenAnnotation)
	}
	if !maps.Equal(have.Annotations, want) {
		p.draft.Edit(have).Annotations = want
	}
	if have.Spec.MinReadySeconds != p.world.Spec.MinReadySeconds {
		p.draft.Edit(have).Spec.MinReadySeconds = p.world.Spec.MinReadySeconds
	}
}

func appendRevision(history string, revision int64) string {
	if history == "" {
		return strconv.FormatInt(revision, 10)
	}
	return fmt.Sprintf("%s,%d", history, revision)
}

// inherited are the Rollout's annotations that its ReplicaSets carry too.
func (p *pass) inherited() map[string]string {
	annotations := map[string]string{}
	for key, value := range p.world.Rollout.Annotations {
		switch key {
		case corev1.LastAppliedConfigAnnotation, v1alpha1.RevisionAnnotation, v1alpha1.RevisionHistoryAnnotation,
			v1alpha1.DesiredReplicasAnnotation, v1alpha1.NotifiedAnnotation, v1alpha1.WorkloadGenerationAnnotation:
		default:
			annotations[key] = value
		}
	}
	return annotations
}

// newReplicaSet is the ReplicaSet of the current template, without pods.
func (p *pass) newReplicaSet(revision int64) *appsv1.ReplicaSet {
	hash := p.world.Spec.PodHash
	withHash := func(labels map[string]string) map[string]string {
		labels = maps.Clone(labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[v1alpha1.PodTemplateHashLabel] = hash
		return labels
	}
	template := p.world.Spec.Template.DeepCopy()
	template.Labels = withHash(template.Labels)
	selector := p.world.Spec.Selector.DeepCopy()
	selector.MatchLabels = withHash(selector.MatchLabels)
	annotations := p.inherited()
	annotations[v1alpha1.RevisionAnnotation] = strconv.FormatInt(revision, 10)
	annotations[v1alpha1.DesiredReplicasAnnotation] = strconv.Itoa(int(p.world.Spec.Replicas))
	labels := withHash(p.world.Spec.Template.Labels)
	if id, ok := p.world.Rollout.Labels[v1alpha1.InstanceIDLabel]; ok {
		labels[v1alpha1.InstanceIDLabel] = id
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name:            p.world.Rollout.Name + "-" + hash,
			Namespace:       p.world.Rollout.Namespace,
			Labels:          labels,
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p.world.Rollout, v1alpha1.RolloutGVK)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas:        new(int32),
			MinReadySeconds: p.world.Spec.MinReadySeconds,
			Selector:        selector,
			Template:        *template,
		},
	}
}
