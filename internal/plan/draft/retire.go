package draft

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// deadline is a version's deadline as it will be after this pass.
func (d *Draft) deadline(v *world.Version) time.Time {
	edited := world.Version{ReplicaSet: d.Edited(v)}
	return edited.Deadline()
}

// delay is how long a version keeps its pods, and the field that says so.
type delay struct {
	field  string
	length time.Duration
}

// AfterUse is the delay of scaleDownDelaySeconds.
func (d *Draft) AfterUse(length time.Duration) delay {
	return delay{d.strategyField() + ".scaleDownDelaySeconds", length}
}

// AfterAbort is the delay of abortScaleDownDelaySeconds.
func (d *Draft) AfterAbort(length time.Duration) delay {
	return delay{d.strategyField() + ".abortScaleDownDelaySeconds", length}
}

func (d *Draft) strategyField() string {
	if d.world.IsBlueGreen() {
		return "blueGreen"
	}
	return "canary"
}

func (d delay) String() string { return fmt.Sprintf("%s=%d", d.field, int64(d.length/time.Second)) }

// StartDelay gives a version a deadline, which is by from now, and returns it. A version that has one keeps it. Where by is the same field
// with another value, because somebody edited it while it runs, the new value counts from when the delay began.
func (d *Draft) StartDelay(v *world.Version, by delay) time.Time {
	deadline := d.deadline(v)
	switch began := by.began(d.Edited(v), deadline); {
	case deadline.IsZero():
		deadline = d.world.NextSecond().Add(by.length)
	case began.IsZero() || !d.world.Now.Before(deadline):
		return deadline
	default:
		deadline = began.Add(by.length)
	}
	set := d.Edit(v)
	world.SetKey(&set.Annotations, v1alpha1.ScaleDownDeadlineAnnotation, deadline.UTC().Format(time.RFC3339))
	world.SetKey(&set.Annotations, v1alpha1.ScaleDownDelayAnnotation, by.String())
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

// StopDelay takes the deadline off a ReplicaSet.
func StopDelay(annotations map[string]string) {
	delete(annotations, v1alpha1.ScaleDownDeadlineAnnotation)
	delete(annotations, v1alpha1.ScaleDownDelayAnnotation)
}

// Edited is a version's ReplicaSet as it will be after this pass.
func (d *Draft) Edited(v *world.Version) *appsv1.ReplicaSet {
	if e, ok := d.edits[v.Name]; ok {
		return e.To
	}
	return v.ReplicaSet
}

// Retirement is how a version goes.
type Retirement struct {
	// size is how many pods it keeps until then, if it has fewer.
	Size   int32
	Reason string
	// services are those that must not send to it any more.
	Services []string
	// spared is a version that stays, nil if none does.
	Spared *world.Version
}

// Retire takes a version's pods away once delay has passed since it was first found to be of no use. Until then it keeps its
// pods, so that going back to it takes no time, and proxies that have not heard yet find somebody at home. A delay of zero
// overrules a deadline that was given before.
func (d *Draft) Retire(v *world.Version, by delay, r Retirement) {
	if slices.ContainsFunc(r.Services, func(name string) bool { return d.Selects(name) == v.Hash }) {
		d.Keep(v) // somebody has pointed a Service back to it: the delay begins when that has left it again
	}
	if v.Desired() == 0 || d.Referenced(v.Hash, r.Services) {
		return
	}
	deadline := d.world.Now
	if by.length > 0 {
		deadline = d.StartDelay(v, by)
	}
	if d.world.Now.Before(deadline) {
		until := "until " + deadline.UTC().Format(time.RFC3339)
		if v.Desired() < r.Size { // never fewer: it may be what one goes back to
			d.Scale(v, r.Size, "kept whole "+until)
		}
		d.journal.Note(change.TopicWait, fmt.Sprintf("%s keeps its pods %s", v.Name, until), r.Reason)
		d.journal.WakeAt(deadline)
		return
	}
	if d.Unreferenced(v.Hash, r.Services) {
		d.Scale(v, 0, r.Reason)
	}
}

// RetireOthers retires the versions that are neither the new nor the stable one. Only so many, the newest, keep their pods for the delay.
func (d *Draft) RetireOthers(length time.Duration, limit int, r Retirement) {
	delayed := 0
	for i := range d.world.Others { // newest first
		v := &d.world.Others[i]
		if v.Desired() == 0 || v == r.Spared {
			continue
		}
		if delayed++; delayed > limit {
			length = 0
		}
		d.Retire(v, d.AfterUse(length), r)
	}
}

// Keep takes a version's deadline away: it is of use again.
func (d *Draft) Keep(v *world.Version) {
	if v == nil {
		return
	}
	if _, ok := v.Annotations[v1alpha1.ScaleDownDeadlineAnnotation]; ok {
		StopDelay(d.Edit(v).Annotations)
	}
}
