package experiment

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// lookAgain is when to check what no event may announce: a name that another object has, and releases.
const lookAgain = 10 * time.Second

// NoPorts is what is said of a template whose Service cannot be.
const NoPorts = "there is no Service, because no container declares a port: add containerPort, or remove service"

// bringUp brings every template to its size and says how it is doing.
func (p *pass) bringUp() {
	for _, t := range p.templates {
		if finished(t.is.Status) {
			continue
		}
		t.is.Message = ""
		if t.Portless {
			t.is.Message = NoPorts
		}
		missing := p.growService(t)
		if missing == "" && !finished(t.is.Status) { // without its Service its pods would be of no use
			missing = p.growSet(t)
		}
		if !finished(t.is.Status) {
			p.follow(t, missing)
		}
	}
}

// count repeats what the ReplicaSets say of their pods.
func (p *pass) count() {
	for _, t := range p.templates {
		t.is.Replicas, t.is.UpdatedReplicas, t.is.ReadyReplicas, t.is.AvailableReplicas = 0, 0, 0, 0
		if t.set == nil {
			continue
		}
		s := t.set.Status
		t.is.Replicas, t.is.UpdatedReplicas, t.is.ReadyReplicas, t.is.AvailableReplicas = s.Replicas, s.Replicas, s.ReadyReplicas, s.AvailableReplicas
		t.is.PodTemplateHash = t.set.Labels[v1alpha1.PodTemplateHashLabel]
	}
}

// growSet makes the template's ReplicaSet what it should be, and returns what is waited for if that has to wait.
func (p *pass) growSet(t *template) (missing string) {
	if t.set == nil {
		return p.createSet(t)
	}
	if !spec.SameTemplate(&t.Template, spec.Bare(t.set)) {
		p.problems = append(p.problems, spec.Problem{
			Field: t.Field + ".template",
			Text:  "an Experiment runs what it began with: create another one for other pods, or write what was there",
		})
	}
	to := t.set.DeepCopy()
	to.Spec.Replicas = &t.Replicas
	to.Spec.MinReadySeconds = t.MinReadySeconds
	delete(to.Annotations, v1alpha1.ScaleDownDeadlineAnnotation)
	from := desired(t.set)
	if from == t.Replicas && to.Spec.MinReadySeconds == t.set.Spec.MinReadySeconds && maps.Equal(to.Annotations, t.set.Annotations) {
		return ""
	}
	made := change.UpdateReplicaSet{From: t.set, To: to}
	if from > t.Replicas {
		p.plan.Shrink = append(p.plan.Shrink, made)
	} else {
		p.plan.Grow = append(p.plan.Grow, made)
	}
	p.tellScale(t.set.Name, from, t.Replicas, "as "+t.Field+" has it")
	return "its ReplicaSet changes"
}

// mostCollisions is how many names of a ReplicaSet may be taken by others before its template fails: more are no accident.
const mostCollisions = 20

// createSet creates the ReplicaSet of a template, with another name for each that is taken. A count in the status that does
// not match was written by another client.
func (p *pass) createSet(t *template) (missing string) {
	set := t.newSet(p.Experiment)
	base := set.Name
	var taken int32
	if t.is.CollisionCount != nil && *t.is.CollisionCount > 0 && *t.is.CollisionCount <= mostCollisions {
		taken = *t.is.CollisionCount
	}
	for ; taken <= mostCollisions; taken++ {
		if taken > 0 {
			set.Name = base + "-" + strconv.Itoa(int(taken))
			t.is.CollisionCount = new(taken)
		}
		failure, refused := p.failureOf(ReplicaSet, set.Name)
		switch {
		case !refused:
			p.plan.Grow = append(p.plan.Grow, change.CreateReplicaSet{ReplicaSet: set})
			p.journal.Note(change.TopicGrow, fmt.Sprintf("create %s with %s", set.Name, pods(t.Replicas)), t.Field)
			p.journal.Event(v1alpha1.EventScalingReplicaSet, "Scaled up ReplicaSet %s from 0 to %d", set.Name, t.Replicas)
			t.is.PodTemplateHash = t.PodHash
			return "its ReplicaSet is created"
		case failure.Leaving:
			return p.awaitLeaving(t, ReplicaSet, set.Name)
		case !failure.Taken:
			p.finish(t, v1alpha1.TemplateStatusError, fmt.Sprintf("ReplicaSet %q was refused: %s", set.Name, failure.Message))
			return ""
		}
	}
	p.finish(t, v1alpha1.TemplateStatusError, fmt.Sprintf(
		"ReplicaSet names %q to %q are taken by others: delete these ReplicaSets, or create an Experiment of another name", base, set.Name))
	return ""
}

// awaitLeaving waits for a name that is going to be free.
func (p *pass) awaitLeaving(t *template, kind Kind, name string) (missing string) {
	p.journal.WakeAt(p.Now.Add(lookAgain))
	t.is.Message = fmt.Sprintf("waiting for %s %q of another Experiment to go", kind, name)
	return t.is.Message
}

// newSet is the ReplicaSet of a template.
func (t *template) newSet(ex *v1alpha1.Experiment) *appsv1.ReplicaSet {
	hashed := func(labels map[string]string) map[string]string {
		if labels == nil {
			labels = map[string]string{}
		}
		labels[v1alpha1.PodTemplateHashLabel] = t.PodHash
		return labels
	}
	template := t.Template.DeepCopy()
	template.Labels = hashed(template.Labels)
	selector := t.Selector.DeepCopy()
	selector.MatchLabels = hashed(selector.MatchLabels)
	replicas := t.Replicas
	return &appsv1.ReplicaSet{
		ObjectMeta: t.childMeta(ex, hashed(nil)),
		Spec: appsv1.ReplicaSetSpec{
			Replicas:        &replicas,
			MinReadySeconds: t.MinReadySeconds,
			Selector:        selector,
			Template:        *template,
		},
	}
}

// childMeta is what the ReplicaSet and the Service of a template are called and marked with.
func (t *template) childMeta(ex *v1alpha1.Experiment, labels map[string]string) metav1.ObjectMeta {
	if id, ok := ex.Labels[v1alpha1.InstanceIDLabel]; ok {
		labels[v1alpha1.InstanceIDLabel] = id
	}
	return metav1.ObjectMeta{
		Name:      spec.ExperimentChildName(ex.Name, t.Name),
		Namespace: ex.Namespace,
		Labels:    labels,
		Annotations: map[string]string{
			v1alpha1.ExperimentNameAnnotation: ex.Name, v1alpha1.ExperimentTemplateNameAnnotation: t.Name,
		},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ex, v1alpha1.ExperimentGVK)},
	}
}

func (p *pass) tellScale(name string, from, to int32, reason string) {
	if from == to {
		return
	}
	direction, topic := "up", change.TopicGrow
	if to < from {
		direction, topic = "down", change.TopicShrink
	}
	p.journal.Event(v1alpha1.EventScalingReplicaSet, "Scaled %s ReplicaSet %s from %d to %d", direction, name, from, to)
	p.journal.Note(topic, fmt.Sprintf("scale %s from %d to %d", name, from, to), reason)
}

// follow returns how a template is doing. Each pod that becomes available is progress, from which the deadline starts again.
func (p *pass) follow(t *template, missing string) {
	if missing == "" {
		missing = t.unavailable()
	}
	if missing == "" {
		t.is.Status = v1alpha1.TemplateStatusRunning
		return
	}
	if t.was.Status != v1alpha1.TemplateStatusProgressing || t.is.LastTransitionTime == nil || t.is.AvailableReplicas > t.was.AvailableReplicas {
		t.is.LastTransitionTime = new(p.now())
	}
	t.is.Status = v1alpha1.TemplateStatusProgressing
	p.journal.Note(change.TopicWait, "template "+t.Name, missing)
	// A whole second on top, since the API stores no fractions: the deadline never comes early.
	deadline := t.is.LastTransitionTime.Add(p.spec.ProgressDeadline + time.Second)
	if p.Now.Before(deadline) {
		p.journal.WakeAt(deadline)
		return
	}
	p.finish(t, v1alpha1.TemplateStatusFailed,
		fmt.Sprintf("Template '%s' exceeded its progressDeadlineSeconds (%d)", t.Name, int(p.spec.ProgressDeadline.Seconds())))
}

// unavailable is what keeps a template from being available as a whole, empty if nothing does.
func (t *template) unavailable() string {
	switch {
	case t.set == nil:
		return "its ReplicaSet is created"
	case !counted(t.set):
		return "the ReplicaSet controller has not seen its size yet"
	case t.set.Status.AvailableReplicas < t.Replicas:
		return fmt.Sprintf("%d of %d pods available", t.set.Status.AvailableReplicas, t.Replicas)
	}
	return ""
}

func pods(n int32) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

func (p *pass) finish(t *template, status v1alpha1.TemplateStatusCode, message string) {
	t.is.Status, t.is.Message = status, message
}

// finished statuses stay.
func finished(status v1alpha1.TemplateStatusCode) bool {
	switch status {
	case v1alpha1.TemplateStatusSuccessful, v1alpha1.TemplateStatusFailed, v1alpha1.TemplateStatusError:
		return true
	case v1alpha1.TemplateStatusProgressing, v1alpha1.TemplateStatusRunning, "":
	}
	return false
}
