package plan

import (
	"fmt"
	"time"

	"github.com/sluice-delivery/sluice/internal/spec"
)

const (
	// podsAPass is how many pods of a version one pass labels at most, and labelPace how soon after it the next one looks: a version of
	// a thousand pods must not keep an abort waiting, and pods whose labels somebody else sets back, again and again, cost little.
	podsAPass = 100
	labelPace = time.Second
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
func (p *pass) dress(forNew, forStable spec.Metadata) {
	if p.promoted() {
		forNew = forStable
	}
	if p.create != nil && !forNew.Empty() {
		set := p.create.ReplicaSet
		spec.Dress{}.Change(set, forNew, false)
		p.note(TopicLabel, "put "+forNew.String()+" on pods of "+set.Name, p.part())
	}
	for _, v := range p.all() {
		switch v {
		case p.new:
			p.dressVersion(v, forNew, p.part())
		case p.stable:
			p.dressVersion(v, forStable, "the stable version")
		default:
			p.dressVersion(v, spec.Metadata{}, "neither the new nor the stable version")
		}
	}
}

// part is what the current version is at present.
func (p *pass) part() string {
	if p.promoted() {
		return "the stable version"
	}
	return "the new version"
}

func (p *pass) dressVersion(v *version, wanted spec.Metadata, why string) {
	dress := spec.DressOf(v.ReplicaSet)
	hasPods := v.desired() > 0 || v.Status.Replicas > 0 || v.stale()
	switch {
	case !dress.Fits(v.ReplicaSet, wanted):
		dress.Change(p.editFor(v, why).to, wanted, hasPods)
		if wanted.Empty() {
			p.note(TopicLabel, "take "+dress.Template.String()+" off pods of "+v.Name, why)
		} else {
			p.note(TopicLabel, "put "+wanted.String()+" on pods of "+v.Name, why)
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
		p.need(NeedPods{Hash: v.hash})
		return
	}
	var changes []Change
	for _, pod := range running {
		if pod.DeletionTimestamp != nil {
			continue
		}
		if to := dress.Pod(pod, &v.Spec.Template); to != pod {
			changes = append(changes, UpdatePod{From: pod, To: to, Reason: why})
		}
	}
	if len(changes) == 0 {
		dress.Settle(p.editFor(v, "all its pods are labelled").to)
		return
	}
	text := fmt.Sprintf("label %s of %s", pods(int32(len(changes))), v.Name)
	if len(changes) > podsAPass {
		text = fmt.Sprintf("label %d of %s of %s", podsAPass, pods(int32(len(changes))), v.Name)
		changes = changes[:podsAPass]
	}
	p.plan.Label = append(p.plan.Label, changes...)
	p.note(TopicLabel, text, why)
	p.wake(p.Now.Add(labelPace))
}
