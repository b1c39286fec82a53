package draft

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// MayNotScale is why no pods may be added or removed now, empty if they may.
func (d *Draft) MayNotScale() string {
	if d.world.Spec.Paused && d.update.State() != progress.Aborted { // an abort is urgent, and does not wait for someone to end the pause
		return "spec.paused is set"
	}
	if d.update.DecidesFast() {
		return "the status must first record whether the version still runs"
	}
	if !d.world.IsRouted() && d.Tied > 0 {
		return "changes to the routes must be reverted first"
	}
	return d.world.UnseenSize()
}

// edit is a ReplicaSet on its way to what it should be.
type edit struct {
	from, To *appsv1.ReplicaSet
	// scaled says how many pods it gets, nil if as many as before: with the event and the note of these numbers.
	scaled *scaled
}

// Edit returns the ReplicaSet to change in place of v's own, which may be shared with a cache.
func (d *Draft) Edit(v *world.Version) *appsv1.ReplicaSet { return d.edit(v).To }

func (d *Draft) edit(v *world.Version) *edit {
	e, ok := d.edits[v.Name]
	if !ok {
		e = &edit{from: v.ReplicaSet, To: v.DeepCopy()}
		d.edits[v.Name] = e
	}
	return e
}

// changes reports whether there is anything to write: what is to be may be there already, written by a pass that came no further.
func (e *edit) changes() bool {
	return !equality.Semantic.DeepEqual(e.from.ObjectMeta, e.To.ObjectMeta) || !equality.Semantic.DeepEqual(e.from.Spec, e.To.Spec)
}

// Scale sets how many pods a version should have.
func (d *Draft) Scale(v *world.Version, to int32, reason string) {
	from := v.Desired()
	if from == to {
		return
	}
	if drafted := d.Edit(v).Spec.Replicas; drafted != nil && *drafted == to {
		return
	}
	e := d.edit(v)
	set := e.To
	set.Spec.Replicas = &to
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	set.Annotations[v1alpha1.DesiredReplicasAnnotation] = strconv.Itoa(int(d.world.Spec.Replicas))
	if to == 0 {
		StopDelay(set.Annotations)
		delete(set.Annotations, v1alpha1.ReachedAnnotation)
		delete(set.Annotations, v1alpha1.OvertakenAnnotation)
	}
	if e.scaled == nil {
		e.scaled = d.tellScale(set, from, to, reason)
		return
	}
	d.journal.Events[e.scaled.event], d.journal.Notes[e.scaled.note] = d.scaledTo(set, from, to, reason) // the size before that counts no more
}

type scaled struct{ event, note int }

// ScaleNew sets how many pods the new version should have, whether it has a ReplicaSet yet or not.
func (d *Draft) ScaleNew(to int32, reason string) {
	if d.Create == nil {
		d.Scale(d.world.New, to, reason)
		return
	}
	set := d.Create.ReplicaSet
	set.Spec.Replicas = &to
	d.journal.Event(v1alpha1.EventNewReplicaSetCreated, "Created ReplicaSet %s (revision %s)", set.Name, set.Annotations[v1alpha1.RevisionAnnotation])
	if to == 0 {
		d.journal.Note(change.TopicGrow, "create "+set.Name+" without pods", reason)
		return
	}
	d.tellScale(set, 0, to, reason)
}

func (d *Draft) tellScale(set *appsv1.ReplicaSet, from, to int32, reason string) *scaled {
	event, note := d.scaledTo(set, from, to, reason)
	d.journal.Events, d.journal.Notes = append(d.journal.Events, event), append(d.journal.Notes, note)
	return &scaled{event: len(d.journal.Events) - 1, note: len(d.journal.Notes) - 1}
}

func (d *Draft) scaledTo(set *appsv1.ReplicaSet, from, to int32, reason string) (change.Event, change.Note) {
	direction, topic := "up", change.TopicGrow
	if to < from {
		direction, topic = "down", change.TopicShrink
	}
	message := fmt.Sprintf("Scaled %s ReplicaSet %s (revision %s) from %d to %d", direction, set.Name, set.Annotations[v1alpha1.RevisionAnnotation], from, to)
	text := fmt.Sprintf("scale %s from %d to %d", set.Name, from, to)
	if d.Create != nil && d.Create.ReplicaSet == set {
		text = fmt.Sprintf("create %s with %s", set.Name, capacity.Pods(to))
	}
	return change.Event{Reason: v1alpha1.EventScalingReplicaSet, Message: message}, change.Note{Topic: topic, Text: text, Reason: reason}
}

// Collect puts the changes of this pass into the plan: what adds pods or only labels first, what takes pods away last.
func (d *Draft) Collect() {
	if d.Create != nil {
		d.Grow = append(d.Grow, *d.Create)
	}
	var shrink []change.Change
	for _, v := range d.world.All() {
		e, ok := d.edits[v.Name]
		if !ok || !e.changes() {
			continue
		}
		made := change.UpdateReplicaSet{From: e.from, To: e.To}
		if e.To.Spec.Replicas != nil && *e.To.Spec.Replicas < v.Desired() {
			shrink = append(shrink, made)
			continue
		}
		d.Grow = append(d.Grow, made)
	}
	for _, name := range slices.Sorted(maps.Keys(d.serviceEdits)) {
		d.Route = append(d.Route, d.serviceEdits[name])
	}
	d.Route = append(d.Route, d.RouteWrites...)
	d.Shrink = slices.Concat(shrink, d.Shrink) // scaling down before deleting what is empty
}

// Shrinks reports whether this pass scales anything down.
func (d *Draft) Shrinks() bool {
	for _, e := range d.edits {
		from, to := world.Version{ReplicaSet: e.from}, world.Version{ReplicaSet: e.To}
		if to.Desired() < from.Desired() {
			return true
		}
	}
	return false
}

// IsEdited reports whether this pass changes a version's ReplicaSet.
func (d *Draft) IsEdited(v *world.Version) bool {
	_, ok := d.edits[v.Name]
	return ok
}
