package world

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/internal/spec"
)

// Remaining is the version that serves where what served is gone: the newest one that has a pod.
func (w *World) Remaining() *Version {
	for _, v := range w.All() {
		if v.ConfirmedAvailable() > 0 {
			return v
		}
	}
	return w.New
}

// Find is the version of a hash, nil if there is none.
func (w *World) Find(hash string) *Version {
	for _, v := range w.All() {
		if hash != "" && v.Hash == hash {
			return v
		}
	}
	return nil
}

// UnseenSize is which size the ReplicaSet controller has not seen yet, empty if it has seen all.
func (w *World) UnseenSize() string {
	// Until the ReplicaSet controller has seen the newest size, what it counted may be pods that are about to go, or miss some that
	// were about to come: what is there is anybody's guess, when sizes change quickly up and down.
	for _, v := range w.All() {
		if v.Unobserved() {
			return fmt.Sprintf("the ReplicaSet controller has not seen the last change of %s yet", v.Name)
		}
	}
	return ""
}

// StableBeside is the stable version where it is another than the new one.
func (w *World) StableBeside() *Version {
	if w.Stable == w.New {
		return nil
	}
	return w.Stable
}

// CreateRetry is how often the controller retries a ReplicaSet that the API server rejected: its cause, such as a quota or an admission
// policy, may be fixed without a change to the Rollout.
const CreateRetry = 30 * time.Second

// Second is the present in the whole seconds that the API stores.
func (w *World) Second() metav1.Time { return metav1.NewTime(w.Now.Truncate(time.Second)) }

// NextSecond is the first whole second that is not before the present, for starts of waits: a wait that is counted from a
// truncated time would end too early.
func (w *World) NextSecond() metav1.Time {
	return metav1.NewTime(w.Now.Add(time.Second - time.Nanosecond).Truncate(time.Second))
}

// IsBlueGreen reports whether the strategy is blue-green.
func (w *World) IsBlueGreen() bool {
	_, ok := w.Spec.Strategy.(spec.BlueGreen)
	return ok
}

// IsRouted reports whether the strategy is a canary whose traffic routers split.
func (w *World) IsRouted() bool {
	c, ok := w.Spec.Strategy.(spec.Canary)
	return ok && c.Traffic != nil
}

// OnlyPods reports whether no other version has pods.
func (w *World) OnlyPods(of *Version) bool {
	return !slices.ContainsFunc(w.All(), func(v *Version) bool { return v != of && v.Counts().Occupies() > 0 })
}

// NewHash is the hash of the new version, whether it has a ReplicaSet yet or not.
func (w *World) NewHash() string {
	if w.New != nil {
		return w.New.Hash
	}
	return w.Spec.PodHash
}

// WithinWindow reports whether the new version is older than the stable one, by fewer versions between them than the window has.
func (w *World) WithinWindow() bool {
	if w.New == nil || w.Stable == nil || !w.New.CreationTimestamp.Before(&w.Stable.CreationTimestamp) {
		return false
	}
	between := 0
	for i := range w.Others {
		if at := &w.Others[i].CreationTimestamp; w.New.CreationTimestamp.Before(at) && at.Before(&w.Stable.CreationTimestamp) {
			between++
		}
	}
	return between < w.Spec.RollbackWindow
}

// Steps are those of a canary, none for any other strategy.
func (w *World) Steps() []spec.Step {
	if c, ok := w.Spec.Strategy.(spec.Canary); ok {
		return c.Steps
	}
	return nil
}

// Step is the step of an index, nil if there is none.
func (w *World) Step(index int32) spec.Step {
	if index < 0 || index >= w.StepCount() {
		return nil
	}
	return w.Steps()[index]
}

// StepCount is how many steps there are.
func (w *World) StepCount() int32 { return int32(len(w.Steps())) }
