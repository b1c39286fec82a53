package podmeta

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

const (
	// podsAPass is how many pods of a version one reconcile labels at most, and labelPace is when the next one follows: a version of a
	// thousand pods must not delay an abort, and pods whose labels something else keeps reverting must cost little.
	podsAPass = 100
	labelPace = time.Second
	// refusalRetry is how soon a pod that the API server did not change is tried again: what refused it may have gone.
	refusalRetry = 30 * time.Second
)

// SetMetadata gives the pods of each version the labels and annotations of its role: the new version's during the update, the stable
// version's after the promotion, and none for any other version. Running pods are changed in place.
//
// The roles are those that the status records, so a promotion shows on the pods from the next reconcile on. Each version takes three
// steps, and the ReplicaSet's annotations say which is next (spec.SetMetadata):
//
//  1. The ReplicaSet's template gets the metadata. The same write adds an annotation that says that pods must follow. From here on new
//     pods are created with the metadata.
//  2. Once the ReplicaSet controller has seen the template, and so creates no more pods from the old one, the pods are listed and those
//     that differ are changed. This comes after all other writes and the record: nothing depends on it, and a pod that the API server
//     does not let us change must not hold up a rollout.
//  3. A reconcile that has listed the pods and found them all correct removes the annotation.
//
// A crash at any point leaves the annotation, and the next reconcile continues with the pods. Without the annotation a settled rollout
// costs no read and no write. Pods that someone relabels later are left alone.
func (l *Labeler) SetMetadata() {
	if wanted := l.metadataOf(l.update.Is.CurrentPodHash); l.draft.Create != nil && !wanted.Empty() {
		set := l.draft.Create.ReplicaSet
		spec.EphemeralMetadata{}.Change(set, wanted, false)
		l.journal.Note(change.TopicLabel, "put "+wanted.String()+" on pods of "+set.Name, l.part(l.update.Is.CurrentPodHash))
	}
	for _, v := range l.world.All() {
		l.setVersionMetadata(v, l.metadataOf(v.Hash), l.part(v.Hash))
	}
}

// metadataOf is what belongs to the part that a version plays by the status as it is now.
func (l *Labeler) metadataOf(hash string) spec.Metadata {
	var forNew, forStable spec.Metadata
	switch s := l.world.Spec.Strategy.(type) {
	case spec.Canary:
		forNew, forStable = s.NewMetadata, s.StableMetadata
	case spec.BlueGreen:
		forNew, forStable = s.NewMetadata, s.StableMetadata
	}
	switch hash {
	case l.update.Is.StableRS:
		return forStable
	case l.update.Is.CurrentPodHash:
		return forNew
	}
	return spec.Metadata{}
}

// part is what a version is at present.
func (l *Labeler) part(hash string) string {
	switch hash {
	case l.update.Is.StableRS:
		return "the stable version"
	case l.update.Is.CurrentPodHash:
		return "the new version"
	}
	return "neither the new nor the stable version"
}

func (l *Labeler) setVersionMetadata(v *world.Version, wanted spec.Metadata, why string) {
	ephemeral := spec.EphemeralMetadataOf(v.ReplicaSet)
	hasPods := v.Desired() > 0 || v.Status.Replicas > 0 || v.Unobserved()
	switch {
	case !ephemeral.Fits(v.ReplicaSet, wanted):
		ephemeral.Change(l.draft.Edit(v), wanted, hasPods)
		l.MetadataChanged = l.MetadataChanged || hasPods
		if wanted.Empty() {
			l.journal.Note(change.TopicLabel, "take "+ephemeral.Template.String()+" off pods of "+v.Name, why)
		} else {
			l.journal.Note(change.TopicLabel, "put "+wanted.String()+" on pods of "+v.Name, why)
		}
	case ephemeral.Settled():
	case !hasPods:
		ephemeral.Settle(l.draft.Edit(v))
	case v.Desired() > 0 && !v.Unobserved(): // or its pods are about to go, or might still be made of an older template
		l.labelPods(v, ephemeral, why)
	}
}

// labelPods changes the pods that differ from their template, or sees that there are none.
func (l *Labeler) labelPods(v *world.Version, ephemeral spec.EphemeralMetadata, why string) {
	running, looked := l.world.Pods[v.Hash]
	if !looked {
		l.journal.Need(change.NeedPods{Hash: v.Hash})
		return
	}
	var changes []change.Change
	refused := 0
	for _, pod := range running {
		if pod.DeletionTimestamp != nil {
			continue
		}
		to := ephemeral.Pod(pod, &v.Spec.Template)
		if to == pod {
			continue
		}
		if refusal, known := l.world.PodRefusals[pod.Name]; known {
			refused++
			l.Refusals = append(l.Refusals, refusal.Message)
			if again := refusal.At.Add(refusalRetry); l.world.Now.Before(again) {
				l.journal.WakeAt(again)
				continue
			}
		}
		changes = append(changes, change.UpdatePod{From: pod, To: to})
	}
	if len(changes)+refused == 0 {
		ephemeral.Settle(l.draft.Edit(v))
	}
	if refused > 0 {
		l.journal.Note(change.TopicWait, fmt.Sprintf("the labels of %s of %s", capacity.Pods(int32(refused)), v.Name), l.Refusals[len(l.Refusals)-1])
	}
	if len(changes) == 0 {
		return
	}
	text := fmt.Sprintf("label %s of %s", capacity.Pods(int32(len(changes))), v.Name)
	if len(changes) > podsAPass {
		text = fmt.Sprintf("label %d of %s of %s", podsAPass, capacity.Pods(int32(len(changes))), v.Name)
		changes = changes[:podsAPass]
	}
	l.draft.Label = append(l.draft.Label, changes...)
	l.journal.Note(change.TopicLabel, text, why)
	l.journal.WakeAt(l.world.Now.Add(labelPace))
}

// Labelled reports whether all pods carry what their version's part asks for, as the status has the parts after this pass. Those that the
// API server refuses to change hold nothing up: a condition reports them.
func (l *Labeler) Labelled() bool {
	return !slices.ContainsFunc(l.Unlabelled(), func(v *world.Version) bool { return !l.refused(v) })
}

// Unlabelled are the versions whose pods may lack what their part asks for.
func (l *Labeler) Unlabelled() []*world.Version {
	return slices.DeleteFunc(l.world.All(), func(v *world.Version) bool {
		after := world.Version{ReplicaSet: l.draft.Edited(v)}
		ephemeral := spec.EphemeralMetadataOf(after.ReplicaSet)
		return after.Desired() == 0 || ephemeral.Fits(after.ReplicaSet, l.metadataOf(v.Hash)) && ephemeral.Settled()
	})
}

// refused reports whether all that a version's pods lack is what the API server refuses. A process that has just started does not know of
// refusals yet; the condition does.
func (l *Labeler) refused(v *world.Version) bool {
	ephemeral := spec.EphemeralMetadataOf(v.ReplicaSet)
	if l.update.Begun || l.MetadataChanged || !ephemeral.Fits(v.ReplicaSet, l.metadataOf(v.Hash)) {
		return false
	}
	if len(l.world.PodRefusals) == 0 {
		return l.update.WasTrue(v1alpha1.ConditionPodMetadataFailure)
	}
	running, looked := l.world.Pods[v.Hash]
	return looked && !slices.ContainsFunc(running, func(pod *corev1.Pod) bool {
		_, known := l.world.PodRefusals[pod.Name]
		return !known && pod.DeletionTimestamp == nil && ephemeral.Pod(pod, &v.Spec.Template) != pod
	})
}
