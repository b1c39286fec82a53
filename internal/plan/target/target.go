// Package target is the answer of a strategy: what it wants, without a single guard. How much of that is safe now is for package move.
package target

import (
	"time"

	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// Target is what a strategy wants.
type Target struct {
	// Sizes are how many pods each version should have, in the order in which they get room. A version that is not here stays as it is.
	Sizes []Size
	// Services are which version each Service should select, in the order in which they are pointed.
	Services []Selection
	// Used are versions that lose the deadline that they may have: they are of use again, or stay for another reason.
	Used []*world.Version
}

// Size is how many pods a version should have.
type Size struct {
	// Version is nil for the new version while its ReplicaSet is still to be created.
	Version *world.Version
	Pods    int32
	Why     string
}

// Selection is which version a Service should select.
type Selection struct {
	Service string
	Version *world.Version
	Why     string
}

// Idle is a version that should have no pods.
type Idle struct {
	Version *world.Version
	// Delay is how long the version keeps its pods from when it was first found to be of no use: scaleDownDelaySeconds, or
	// abortScaleDownDelaySeconds where Aborted is set.
	Delay   time.Duration
	Aborted bool
	// Whole is how many pods it has until then, if it has fewer.
	Whole int32
	Why   string
	// Services must not send to it any more.
	Services []string
}

// Replaced are the versions that have pods and are neither new nor stable, except a spared one. Only the newest `limit` of them have a
// delay.
func Replaced(others []world.Version, spared *world.Version, limit int, like Idle) []Idle {
	var idle []Idle
	for i := range others { // newest first
		v := &others[i]
		if v.Desired() == 0 || v == spared {
			continue
		}
		one := like
		one.Version = v
		if len(idle) >= limit {
			one.Delay = 0
		}
		idle = append(idle, one)
	}
	return idle
}
