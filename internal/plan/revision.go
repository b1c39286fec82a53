package plan

import (
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// revise takes up what people did since the last pass: a new template or other steps begin an update, and the fields of the
// status that are theirs to set abort one, try it again or promote it in full.
func (p *pass) revise() {
	if p.begins() {
		p.begin(p.newHash())
	}
	p.obey()
	p.number()
}

// begins reports whether an update begins in this pass.
func (p *pass) begins() bool {
	return p.was.CurrentPodHash != p.newHash() || p.was.CurrentStepHash != p.spec.StepHash
}

func (p *pass) newHash() string {
	if p.new != nil {
		return p.new.hash
	}
	return p.spec.PodHash
}

// begin starts the update at its first step, or at the end of the steps where there is nothing to update: the template is the
// stable version's.
func (p *pass) begin(hash string) {
	s := p.is
	p.begun = s.CurrentPodHash != hash
	s.CurrentPodHash, s.CurrentStepHash = hash, p.spec.StepHash
	s.PauseConditions, s.ControllerPause = nil, false
	s.Abort, s.AbortedAt, s.PromoteFull = false, nil, false
	s.RestartedAt = p.Rollout.Spec.RestartAt.DeepCopy()
	p.forgetVerdicts()
	s.Canary.StepPluginStatuses = nil
	p.fast = p.goesBackFast()
	s.BlueGreen.ScaleUpPreviewCheckPoint = p.fast
	p.goTo(0)
	if window := p.spec.RollbackWindow; p.fast && !p.isBlueGreen() {
		p.goTo(p.stepCount())
		p.Event(v1alpha1.EventSkipSteps, "Rollback within the window of %d revisions", window)
		p.Note(change.TopicUpdate, "back to an earlier version: all steps are skipped", fmt.Sprintf("rollbackWindow of %d revisions", window))
	}
	if p.promoted() {
		p.goTo(p.stepCount())
		if p.begun && p.was.CurrentPodHash != "" {
			p.Event(v1alpha1.EventSkipSteps, "Rollback to stable ReplicaSets")
			p.Note(change.TopicUpdate, "back to the stable version: all steps are skipped", "the template is that of "+s.StableRS)
		}
	}
}

// goesBackFast reports whether the update goes back to a version that needs no trial: one that still runs, and is within the rollback
// window, or, with blue-green, has all its pods still since its delay has not passed (A10.4, A11).
func (p *pass) goesBackFast() bool {
	if p.new.desired() == 0 || p.promoted() {
		return false
	}
	return p.withinWindow() || p.isBlueGreen() && p.new.delaying(p.Now) && p.new.Annotations[v1alpha1.OvertakenAnnotation] == ""
}

// decidesFast reports whether this pass finds that an earlier version does not run any more. It must not get pods before that is
// recorded: whoever looks again after a crash would take them for ones that never went.
func (p *pass) decidesFast() bool { return p.begun && !p.fast && p.withinWindow() }

// withinWindow reports whether the new version is older than the stable one, by fewer versions between them than the window has.
func (p *pass) withinWindow() bool {
	if p.spec.RollbackWindow == 0 || p.new == nil || p.stable == nil || !p.new.CreationTimestamp.Before(&p.stable.CreationTimestamp) {
		return false
	}
	between := 0
	for i := range p.others {
		if at := &p.others[i].CreationTimestamp; p.new.CreationTimestamp.Before(at) && at.Before(&p.stable.CreationTimestamp) {
			between++
		}
	}
	return between < p.spec.RollbackWindow
}

// obey carries out abort, retry and promote --full. The newer of an abort and a full promotion wins: an abort that has been
// recorded before is the older one.
func (p *pass) obey() {
	s := p.is
	if p.promoted() {
		s.Abort, s.AbortedAt, s.PromoteFull = false, nil, false
		return
	}
	if s.Abort && s.PromoteFull {
		if s.AbortedAt == nil {
			s.PromoteFull = false
		} else {
			s.Abort = false
		}
	}
	switch {
	case s.Abort && s.AbortedAt == nil:
		now := p.now()
		s.AbortedAt = &now
		p.Note(change.TopicUpdate, "aborted: back to the stable version", "status.abort is set")
	case !s.Abort && s.AbortedAt != nil:
		s.AbortedAt = nil
		s.BlueGreen.ScaleUpPreviewCheckPoint = false
		p.forgetVerdicts()
		p.retried = true
		p.goTo(0)
		if s.PromoteFull {
			p.Note(change.TopicUpdate, "tried again, without steps", "a full promotion was requested after the abort")
		} else {
			p.Note(change.TopicUpdate, "tried again from the first step", "status.abort was cleared")
		}
	}
	if s.Abort {
		p.goTo(0)
	}
	if s.Abort || s.PromoteFull {
		s.PauseConditions, s.ControllerPause = nil, false
	}
}

// number gives the new version the highest revision. A version that comes back keeps a memory of the revisions it had.
func (p *pass) number() {
	revision := maxRevision(p.older()) + 1
	if p.new != nil && p.new.revision >= revision {
		revision = p.new.revision
	}
	p.annotations[v1alpha1.RevisionAnnotation] = strconv.FormatInt(revision, 10)
	if p.begun {
		p.Event(v1alpha1.EventRolloutUpdated, "Rollout updated to revision %d", revision)
	}
	if p.new == nil {
		p.create = &change.CreateReplicaSet{ReplicaSet: p.newReplicaSet(revision)}
		return
	}
	p.refresh(revision)
}

// refresh keeps on the new version's ReplicaSet what follows the Rollout without making a new version.
func (p *pass) refresh(revision int64) {
	have := p.new
	want := maps.Clone(have.Annotations)
	if want == nil {
		want = map[string]string{}
	}
	maps.Copy(want, p.inherited())
	want[v1alpha1.RevisionAnnotation] = strconv.FormatInt(revision, 10)
	if have.revision != revision && have.revision > 0 {
		want[v1alpha1.RevisionHistoryAnnotation] = appendRevision(have.Annotations[v1alpha1.RevisionHistoryAnnotation], have.revision)
	}
	// An abort gives the new version a deadline of its own. And where the update begins, that there was one is what makes it a
	// fast rollback: it is taken away only once the status remembers that.
	if !p.is.Abort && !p.begun {
		if !p.hasSurplus() {
			stopDelay(want)
		}
		delete(want, v1alpha1.OvertakenAnnotation)
	}
	if !maps.Equal(have.Annotations, want) {
		p.edit(have).Annotations = want
	}
	if have.Spec.MinReadySeconds != p.spec.MinReadySeconds {
		p.edit(have).Spec.MinReadySeconds = p.spec.MinReadySeconds
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
	for key, value := range p.Rollout.Annotations {
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
	hash := p.spec.PodHash
	withHash := func(labels map[string]string) map[string]string {
		labels = maps.Clone(labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[v1alpha1.PodTemplateHashLabel] = hash
		return labels
	}
	template := p.spec.Template.DeepCopy()
	template.Labels = withHash(template.Labels)
	selector := p.spec.Selector.DeepCopy()
	selector.MatchLabels = withHash(selector.MatchLabels)
	annotations := p.inherited()
	annotations[v1alpha1.RevisionAnnotation] = strconv.FormatInt(revision, 10)
	annotations[v1alpha1.DesiredReplicasAnnotation] = strconv.Itoa(int(p.spec.Replicas))
	labels := withHash(p.spec.Template.Labels)
	if id, ok := p.Rollout.Labels[v1alpha1.InstanceIDLabel]; ok {
		labels[v1alpha1.InstanceIDLabel] = id
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name:            p.Rollout.Name + "-" + hash,
			Namespace:       p.Rollout.Namespace,
			Labels:          labels,
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p.Rollout, v1alpha1.RolloutGVK)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas:        new(int32),
			MinReadySeconds: p.spec.MinReadySeconds,
			Selector:        selector,
			Template:        *template,
		},
	}
}

// goTo makes step i the current one; it stays unset where there are no steps.
func (p *pass) goTo(i int32) {
	p.is.CurrentStepIndex = nil
	if p.stepCount() > 0 {
		p.is.CurrentStepIndex = &i
	}
}

// at is the current step's index, the number of steps when all are done.
func (p *pass) at() int32 {
	if p.is.CurrentStepIndex == nil {
		return p.stepCount()
	}
	return min(max(*p.is.CurrentStepIndex, 0), p.stepCount())
}

func (p *pass) steps() []spec.Step {
	if c, ok := p.spec.Strategy.(spec.Canary); ok {
		return c.Steps
	}
	return nil
}

func (p *pass) stepCount() int32 { return int32(len(p.steps())) }
