package draft

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// deadline is a version's deadline as it will be after this pass.
func (d *Draft) deadline(v *world.Version) time.Time {
	edited := world.Version{ReplicaSet: d.Edited(v)}
	return edited.Deadline()
}

// Delay is how long a version keeps its pods, and the field that says so.
type Delay struct {
	field  string
	Length time.Duration
}

// AfterUse is the delay of scaleDownDelaySeconds.
func (d *Draft) AfterUse(length time.Duration) Delay {
	return Delay{d.strategyField() + ".scaleDownDelaySeconds", length}
}

// AfterAbort is the delay of abortScaleDownDelaySeconds.
func (d *Draft) AfterAbort(length time.Duration) Delay {
	return Delay{d.strategyField() + ".abortScaleDownDelaySeconds", length}
}

func (d *Draft) strategyField() string {
	if d.world.IsBlueGreen() {
		return "blueGreen"
	}
	return "canary"
}

func (d Delay) String() string { return fmt.Sprintf("%s=%d", d.field, int64(d.Length/time.Second)) }

// StartDelay gives a version a deadline, `by` from now, and returns it. A version that has one keeps it. If a user edits the field during the
// delay, the new value counts from when the delay began.
func (d *Draft) StartDelay(v *world.Version, by Delay) time.Time {
	deadline := d.deadline(v)
	switch began := by.began(d.Edited(v), deadline); {
	case deadline.IsZero():
		deadline = d.world.NextSecond().Add(by.Length)
	case began.IsZero() || !d.world.Now.Before(deadline):
		return deadline
	default:
		deadline = began.Add(by.Length)
	}
	set := d.Edit(v)
	world.SetKey(&set.Annotations, v1alpha1.ScaleDownDeadlineAnnotation, deadline.UTC().Format(time.RFC3339))
	world.SetKey(&set.Annotations, v1alpha1.ScaleDownDelayAnnotation, by.String())
	return deadline
}

// began is when a delay of this field and of another length began that ends at deadline, zero if there is none.
func (d Delay) began(of *appsv1.ReplicaSet, deadline time.Time) time.Time {
	field, length, _ := strings.Cut(of.Annotations[v1alpha1.ScaleDownDelayAnnotation], "=")
	seconds, err := strconv.ParseInt(length, 10, 32)
	if was := time.Duration(seconds) * time.Second; err == nil && field == d.field && was != d.Length && !deadline.IsZero() {
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

// Keep takes a version's deadline away: it is of use again.
func (d *Draft) Keep(v *world.Version) {
	if v == nil {
		return
	}
	if _, ok := v.Annotations[v1alpha1.ScaleDownDeadlineAnnotation]; ok {
		StopDelay(d.Edit(v).Annotations)
	}
}
