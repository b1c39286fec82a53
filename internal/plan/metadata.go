package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

const (
	// podsAPass is how many pods of a version one pass labels at most, and labelPace how soon after it the next one looks: a version of
	// a thousand pods must not keep an abort waiting, and pods whose labels somebody else sets back, again and again, cost little.
	podsAPass = 100
	labelPace = time.Second
	// refusalRetry is how soon a pod that the API server did not change is tried again: what refused it may have gone.
	refusalRetry = 30 * time.Second
)

// dress has the pods of each version carry the labels and annotations that belong to the part it plays: the new version's while it is
// being updated to, the stable one's once it is promoted, and none on any other. Running pods are changed in place.
//
// It goes by the parts that the status records, so a promotion shows on the pods from the pass after it on. For each version
// there are three steps, and the ReplicaSet's annotations tell which comes next (spec.Dress):
//
//  1. The ReplicaSet's template gets the metadata, and with the same write the annotation that says that pods are to follow.
//     From here on new pods come with it.
//  2. Once the ReplicaSet controller has seen that, and so makes no more pods of the old template, the pods are listed and those
//     that differ are changed. After all other writes, and after the record: nothing depends on it, and one pod that the API
//     server will not let be changed must not hold up a rollout.
//  3. A pass that has listed the pods and found them all as they should be takes the annotation away.
//
// A crash anywhere leaves the annotation, and the next pass goes on where the pods are. Between changes it is not there, so that
// a settled rollout costs no read and no write. Pods that somebody relabels by hand later are left as they are.
func (p *pass) dress() {
	if wanted := p.metadataOf(p.is.CurrentPodHash); p.create != nil && !wanted.Empty() {
		set := p.create.ReplicaSet
		spec.Dress{}.Change(set, wanted, false)
		p.Note(change.TopicLabel, "put "+wanted.String()+" on pods of "+set.Name, p.part(p.is.CurrentPodHash))
	}
	for _, v := range p.all() {
		p.dressVersion(v, p.metadataOf(v.hash), p.part(v.hash))
	}
}

// metadataOf is what belongs to the part that a version plays by the status as it is now.
func (p *pass) metadataOf(hash string) spec.Metadata {
	var forNew, forStable spec.Metadata
	switch s := p.spec.Strategy.(type) {
	case spec.Canary:
		forNew, forStable = s.NewMetadata, s.StableMetadata
	case spec.BlueGreen:
		forNew, forStable = s.NewMetadata, s.StableMetadata
	}
	switch hash {
	case p.is.StableRS:
		return forStable
	case p.is.CurrentPodHash:
		return forNew
	}
	return spec.Metadata{}
}

// part is what a version is at present.
func (p *pass) part(hash string) string {
	switch hash {
	case p.is.StableRS:
		return "the stable version"
	case p.is.CurrentPodHash:
		return "the new version"
	}
	return "neither the new nor the stable version"
}

func (p *pass) dressVersion(v *version, wanted spec.Metadata, why string) {
	dress := spec.DressOf(v.ReplicaSet)
	hasPods := v.desired() > 0 || v.Status.Replicas > 0 || v.stale()
	switch {
	case !dress.Fits(v.ReplicaSet, wanted):
		dress.Change(p.editFor(v, why).to, wanted, hasPods)
		p.redressed = p.redressed || hasPods
		if wanted.Empty() {
			p.Note(change.TopicLabel, "take "+dress.Template.String()+" off pods of "+v.Name, why)
		} else {
			p.Note(change.TopicLabel, "put "+wanted.String()+" on pods of "+v.Name, why)
		}
	case dress.Settled():
	case !hasPods:
		dress.Settle(p.editFor(v, "no pods to label").to)
	case v.desired() > 0 && !v.stale(): // or its pods are about to go, or might still be made of an older template
		p.dressPods(v, dress, why)
	}
}

// dressPods changes the pods that differ from their template, or sees that there are none.
func (p *pass) dressPods(v *version, dress spec.Dress, why string) {
	running, looked := p.Pods[v.hash]
	if !looked {
		p.Need(change.NeedPods{Hash: v.hash})
		return
	}
	var changes []change.Change
	refused := 0
	for _, pod := range running {
		if pod.DeletionTimestamp != nil {
			continue
		}
		to := dress.Pod(pod, &v.Spec.Template)
		if to == pod {
			continue
		}
		if refusal, known := p.PodRefusals[pod.Name]; known {
			refused++
			p.refusals = append(p.refusals, refusal.Message)
			if again := refusal.At.Add(refusalRetry); p.Now.Before(again) {
				p.WakeAt(again)
				continue
			}
		}
		changes = append(changes, change.UpdatePod{From: pod, To: to, Reason: why})
	}
	if len(changes)+refused == 0 {
		dress.Settle(p.editFor(v, "all its pods are labelled").to)
		return
	}
	if refused > 0 {
		p.Note(change.TopicWait, fmt.Sprintf("the labels of %s of %s", pods(int32(refused)), v.Name), p.refusals[len(p.refusals)-1])
	}
	if len(changes) == 0 {
		return
	}
	text := fmt.Sprintf("label %s of %s", pods(int32(len(changes))), v.Name)
	if len(changes) > podsAPass {
		text = fmt.Sprintf("label %d of %s of %s", podsAPass, pods(int32(len(changes))), v.Name)
		changes = changes[:podsAPass]
	}
	p.label = append(p.label, changes...)
	p.Note(change.TopicLabel, text, why)
	p.WakeAt(p.Now.Add(labelPace))
}

// labelled reports whether all pods carry what their version's part asks for, as the status has the parts after this pass. Those that the
// API server refuses to change hold nothing up: a condition reports them.
func (p *pass) labelled() bool {
	return !slices.ContainsFunc(p.unlabelled(), func(v *version) bool { return !p.refused(v) })
}

// unlabelled are the versions whose pods may lack what their part asks for.
func (p *pass) unlabelled() []*version {
	return slices.DeleteFunc(p.all(), func(v *version) bool {
		after := version{ReplicaSet: p.edited(v)}
		dress := spec.DressOf(after.ReplicaSet)
		return after.desired() == 0 || dress.Fits(after.ReplicaSet, p.metadataOf(v.hash)) && dress.Settled()
	})
}

// refused reports whether all that a version's pods lack is what the API server refuses. A process that has just started does not know of
// refusals yet; the condition does.
func (p *pass) refused(v *version) bool {
	dress := spec.DressOf(v.ReplicaSet)
	if p.begun || p.redressed || !dress.Fits(v.ReplicaSet, p.metadataOf(v.hash)) {
		return false
	}
	if len(p.PodRefusals) == 0 {
		return p.wasTrue(v1alpha1.ConditionPodMetadataFailure)
	}
	running, looked := p.Pods[v.hash]
	return looked && !slices.ContainsFunc(running, func(pod *corev1.Pod) bool {
		_, known := p.PodRefusals[pod.Name]
		return !known && pod.DeletionTimestamp == nil && dress.Pod(pod, &v.Spec.Template) != pod
	})
}

// setPodMetadataFailure reports how many pods the API server refuses to label, and why.
func (p *pass) setPodMetadataFailure() {
	switch {
	case len(p.refusals) > 0:
		why := slices.Compact(slices.Sorted(slices.Values(p.refusals)))
		p.setTrue(v1alpha1.ConditionPodMetadataFailure, v1alpha1.ReasonPodUpdateRefused,
			fmt.Sprintf("%s cannot be labelled: %s", pods(int32(len(p.refusals))), strings.Join(why, "; ")))
	case p.begun || p.redressed || len(p.unlabelled()) == 0:
		p.remove(v1alpha1.ConditionPodMetadataFailure)
	}
}
