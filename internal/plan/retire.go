package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
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
	edited := version{ReplicaSet: p.edited(v)}
	return edited.deadline()
}

// delaying reports whether the version keeps its pods for a while after it lost its part.
func (v *version) delaying(now time.Time) bool { return now.Before(v.deadline()) }

// delay is how long a version keeps its pods, and the field that says so.
type delay struct {
	field  string
	length time.Duration
}

func (p *pass) afterUse(length time.Duration) delay {
	return delay{p.strategyField() + ".scaleDownDelaySeconds", length}
}

func (p *pass) afterAbort(length time.Duration) delay {
	return delay{p.strategyField() + ".abortScaleDownDelaySeconds", length}
}

func (p *pass) strategyField() string {
	if p.isBlueGreen() {
		return "blueGreen"
	}
	return "canary"
}

func (d delay) String() string { return fmt.Sprintf("%s=%d", d.field, int64(d.length/time.Second)) }

// startDelay gives a version a deadline, which is by from now, and returns it. A version that has one keeps it. Where by is the same field
// with another value, because somebody edited it while it runs, the new value counts from when the delay began.
func (p *pass) startDelay(v *version, by delay) time.Time {
	deadline := p.deadline(v)
	switch began := by.began(p.edited(v), deadline); {
	case deadline.IsZero():
		deadline = p.nowOrLater().Add(by.length)
	case began.IsZero() || !p.Now.Before(deadline):
		return deadline
	default:
		deadline = began.Add(by.length)
	}
	set := p.edit(v)
	setKey(&set.Annotations, v1alpha1.ScaleDownDeadlineAnnotation, deadline.UTC().Format(time.RFC3339))
	setKey(&set.Annotations, v1alpha1.ScaleDownDelayAnnotation, by.String())
	return deadline
}

// began is when a delay of this field and of another length began that ends at deadline, zero if there is none.
func (d delay) began(of *appsv1.ReplicaSet, deadline time.Time) time.Time {
	field, length, _ := strings.Cut(of.Annotations[v1alpha1.ScaleDownDelayAnnotation], "=")
	seconds, err := strconv.ParseInt(length, 10, 32)
	if was := time.Duration(seconds) * time.Second; err == nil && field == d.field && was != d.length && !deadline.IsZero() {
		return deadline.Add(-was)
	}
	return time.Time{}
}

// stopDelay takes the deadline off a ReplicaSet.
func stopDelay(annotations map[string]string) {
	delete(annotations, v1alpha1.ScaleDownDeadlineAnnotation)
	delete(annotations, v1alpha1.ScaleDownDelayAnnotation)
}

// edited is a version's ReplicaSet as it will be after this pass.
func (p *pass) edited(v *version) *appsv1.ReplicaSet {
	if e, ok := p.edits[v.Name]; ok {
		return e.to
	}
	return v.ReplicaSet
}

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
func (p *pass) retire(v *version, by delay, r retirement) {
	if slices.ContainsFunc(r.services, func(name string) bool { return p.selects(name) == v.hash }) {
		p.keep(v) // somebody has pointed a Service back to it: the delay begins when that has left it again
	}
	if v.desired() == 0 || p.referenced(v.hash, r.services) {
		return
	}
	deadline := p.Now
	if by.length > 0 {
		deadline = p.startDelay(v, by)
	}
	if p.Now.Before(deadline) {
		until := "until " + deadline.UTC().Format(time.RFC3339)
		if v.desired() < r.size { // never fewer: it may be what one goes back to
			p.scale(v, r.size, "kept whole "+until)
		}
		p.Note(change.TopicWait, fmt.Sprintf("%s keeps its pods %s", v.Name, until), r.reason)
		p.WakeAt(deadline)
		return
	}
	if p.unreferenced(v.hash, r.services) {
		p.scale(v, 0, r.reason)
	}
}

// retireOthers retires the versions that are neither the new nor the stable one. Only so many, the newest, keep their pods for the delay.
func (p *pass) retireOthers(length time.Duration, limit int, r retirement) {
	delayed := 0
	for i := range p.others { // newest first
		v := &p.others[i]
		if v.desired() == 0 || v == r.spared {
			continue
		}
		if delayed++; delayed > limit {
			length = 0
		}
		p.retire(v, p.afterUse(length), r)
	}
}

// keep takes a version's deadline away: it is of use again.
func (p *pass) keep(v *version) {
	if v == nil {
		return
	}
	if _, ok := v.Annotations[v1alpha1.ScaleDownDeadlineAnnotation]; ok {
		stopDelay(p.edit(v).Annotations)
	}
}
