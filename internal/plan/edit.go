package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
)

// edit is a ReplicaSet on its way to what it should be.
type edit struct {
	from, to *appsv1.ReplicaSet
	reasons  []string
}

// edit returns the ReplicaSet to change in place of v's own, which may be shared with a cache.
func (p *pass) edit(v *version) *appsv1.ReplicaSet { return p.editFor(v, "").to }

func (p *pass) editFor(v *version, reason string) *edit {
	e, ok := p.edits[v.Name]
	if !ok {
		e = &edit{from: v.ReplicaSet, to: v.DeepCopy()}
		p.edits[v.Name] = e
	}
	if reason != "" {
		e.reasons = append(e.reasons, reason)
	}
	return e
}

// changes reports whether there is anything to write: what is to be may be there already, written by a pass that came no further.
func (e *edit) changes() bool {
	return !equality.Semantic.DeepEqual(e.from.ObjectMeta, e.to.ObjectMeta) || !equality.Semantic.DeepEqual(e.from.Spec, e.to.Spec)
}

// scale sets how many pods a version should have.
func (p *pass) scale(v *version, to int32, reason string) {
	from := v.desired()
	if from == to {
		return
	}
	set := p.editFor(v, reason).to
	set.Spec.Replicas = &to
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	set.Annotations[v1alpha1.DesiredReplicasAnnotation] = strconv.Itoa(int(p.spec.Replicas))
	if to == 0 {
		stopDelay(set.Annotations)
		delete(set.Annotations, v1alpha1.ReachedAnnotation)
		delete(set.Annotations, v1alpha1.OvertakenAnnotation)
	}
	p.tellScale(set, from, to, reason)
}

// scaleNew sets how many pods the new version should have, whether it has a ReplicaSet yet or not.
func (p *pass) scaleNew(to int32, reason string) {
	if p.create == nil {
		p.scale(p.new, to, reason)
		return
	}
	set := p.create.ReplicaSet
	set.Spec.Replicas = &to
	p.create.Reason = reason
	p.Event(v1alpha1.EventNewReplicaSetCreated, "Created ReplicaSet %s (revision %s)", set.Name, set.Annotations[v1alpha1.RevisionAnnotation])
	if to == 0 {
		p.Note(change.TopicGrow, "create "+set.Name+" without pods", reason)
		return
	}
	p.tellScale(set, 0, to, reason)
}

func (p *pass) tellScale(set *appsv1.ReplicaSet, from, to int32, reason string) {
	direction, topic := "up", change.TopicGrow
	if to < from {
		direction, topic = "down", change.TopicShrink
	}
	p.Event(v1alpha1.EventScalingReplicaSet, "Scaled %s ReplicaSet %s (revision %s) from %d to %d",
		direction, set.Name, set.Annotations[v1alpha1.RevisionAnnotation], from, to)
	text := fmt.Sprintf("scale %s from %d to %d", set.Name, from, to)
	if p.create != nil && p.create.ReplicaSet == set {
		text = fmt.Sprintf("create %s with %s", set.Name, pods(to))
	}
	p.Note(topic, text, reason)
}

// collect puts the changes of this pass into the plan: what adds pods or only labels first, what takes pods away last.
func (p *pass) collect() {
	if p.create != nil {
		p.grow = append(p.grow, *p.create)
	}
	var shrink []change.Change
	for _, v := range p.all() {
		e, ok := p.edits[v.Name]
		if !ok || !e.changes() {
			continue
		}
		made := change.UpdateReplicaSet{From: e.from, To: e.to, Reason: joinReasons(e.reasons)}
		if e.to.Spec.Replicas != nil && *e.to.Spec.Replicas < v.desired() {
			shrink = append(shrink, made)
			continue
		}
		p.grow = append(p.grow, made)
	}
	for _, name := range slices.Sorted(maps.Keys(p.serviceEdits)) {
		p.route = append(p.route, p.serviceEdits[name])
	}
	p.route = append(p.route, p.routeWrites...)
	p.shrink = slices.Concat(shrink, p.shrink) // scaling down before deleting what is empty
}

func joinReasons(reasons []string) string {
	switch len(reasons) {
	case 0:
		return "follow the Rollout"
	case 1:
		return reasons[0]
	}
	return fmt.Sprintf("%s; %s", reasons[0], joinReasons(reasons[1:]))
}

func pods(n int32) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// shrinks reports whether this pass scales anything down.
func (p *pass) shrinks() bool {
	for _, e := range p.edits {
		from, to := version{ReplicaSet: e.from}, version{ReplicaSet: e.to}
		if to.desired() < from.desired() {
			return true
		}
	}
	return false
}

// isEdited reports whether this pass changes a version's ReplicaSet.
func (p *pass) isEdited(v *version) bool {
	_, ok := p.edits[v.Name]
	return ok
}
