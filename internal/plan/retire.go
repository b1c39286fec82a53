package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// deadline is when a version may lose its pods, zero if it has no deadline. The annotation on its ReplicaSet is wire format.
func (v *version) deadline() time.Time {
	if v == nil {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.ScaleDownDeadlineAnnotation])
	if err != nil {
		return time.Time{} // none, or not one that anybody could keep: it gets a new one
	}
	return t
}

// deadline is a version's deadline as it will be after this pass.
func (p *pass) deadline(v *version) time.Time {
	if e, ok := p.edits[v.Name]; ok {
		edited := version{ReplicaSet: e.to}
		return edited.deadline()
	}
	return v.deadline()
}

// delaying reports whether the version keeps its pods for a while after it lost its part.
func (v *version) delaying(now time.Time) bool { return now.Before(v.deadline()) }

// retirement is how a version goes.
type retirement struct {
	// size is how many pods it keeps until then, if it has fewer.
	size   int32
	reason string
	// services are those that must not send to it any more.
	services []string
	// spared is a version that stays, nil if none does.
	spared *version
}

// retire takes a version's pods away once delay has passed since it was first found to be of no use. Until then it keeps its
// pods, so that going back to it takes no time, and proxies that have not heard yet find somebody at home. A delay of zero
// overrules a deadline that was given before.
func (p *pass) retire(v *version, delay time.Duration, r retirement) {
	if slices.ContainsFunc(r.services, func(name string) bool { return p.selects(name) == v.hash }) {
		p.keep(v) // somebody has pointed a Service back to it: the delay begins when that has left it again
	}
	if v.desired() == 0 || p.referenced(v.hash, r.services) {
		return
	}
	deadline := p.deadline(v)
	if delay == 0 {
		deadline = p.Now
	}
	if deadline.IsZero() {
		deadline = p.nowOrLater().Add(delay)
		setKey(&p.edit(v).Annotations, v1alpha1.ScaleDownDeadlineAnnotation, deadline.UTC().Format(time.RFC3339))
	}
	if p.Now.Before(deadline) {
		until := "until " + deadline.UTC().Format(time.RFC3339)
		if v.desired() < r.size { // never fewer: it may be what one goes back to
			p.scale(v, r.size, "kept whole "+until)
		}
		p.note(TopicWait, fmt.Sprintf("%s keeps its pods %s", v.Name, until), r.reason)
		p.wake(deadline)
		return
	}
	if p.unreferenced(v.hash, r.services) {
		p.scale(v, 0, r.reason)
	}
}

// retireOthers retires the versions that are neither the new nor the stable one. Only so many, the newest, keep their pods for the delay.
func (p *pass) retireOthers(delay time.Duration, limit int, r retirement) {
	delayed := 0
	for i := range p.others { // newest first
		v := &p.others[i]
		if v.desired() == 0 || v == r.spared {
			continue
		}
		if delayed++; delayed > limit {
			delay = 0
		}
		p.retire(v, delay, r)
	}
}

// keep takes a version's deadline away: it is of use again.
func (p *pass) keep(v *version) {
	if _, ok := v.Annotations[v1alpha1.ScaleDownDeadlineAnnotation]; ok {
		delete(p.edit(v).Annotations, v1alpha1.ScaleDownDeadlineAnnotation)
	}
}
