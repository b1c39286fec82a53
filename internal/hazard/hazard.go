package hazard

import (
	"fmt"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Hazard is one thing that may cause problems.
type Hazard struct {
	// Kind is the type of the hazard, in one word for programs.
	Kind Kind
	// Field is the path of the field that causes it, beginning with "spec.".
	Field string
	// Text says what may happen and what to write instead.
	Text string
}

func (h Hazard) String() string { return h.Field + ": " + h.Text }

// Kind is a type of hazard.
type Kind string

// The kinds of hazards.
const (
	// CanaryOverload: fewer canary pods than their share of the traffic.
	CanaryOverload Kind = "CanaryOverload"
	// EmptiedCanary: the canary's pods are deleted and created again.
	EmptiedCanary Kind = "EmptiedCanary"
	// CoarseWeight: without a router, too few pods for the requested weight.
	CoarseWeight Kind = "CoarseWeight"
	// AllUnavailable: all pods may be unavailable at the same time.
	AllUnavailable Kind = "AllUnavailable"
	// NoReadiness: nothing shows when a pod can serve.
	NoReadiness Kind = "NoReadiness"
	// NoPreStop: pods may close their ports while they still get requests.
	NoPreStop Kind = "NoPreStop"
	// MovingImage: the image's name may refer to another image tomorrow.
	MovingImage Kind = "MovingImage"
	// ShortDelay: pods may be deleted while traffic still arrives.
	ShortDelay Kind = "ShortDelay"
	// KeptForever: pods of an aborted update are kept.
	KeptForever Kind = "KeptForever"
	// LargePreview: the preview has more pods than the active version.
	LargePreview Kind = "LargePreview"
	// NoEffect: the field has no effect here, and Argo Rollouts' manifests may have it.
	NoEffect Kind = "NoEffect"
	// NoHistory: there is no version to roll back to.
	NoHistory Kind = "NoHistory"
)

// Of returns the hazards of a Rollout, in the order of its spec.
func Of(ro *v1alpha1.Rollout) []Hazard {
	f := finder{replicas: v1alpha1.DefaultReplicas}
	if ro.Spec.Replicas != nil {
		f.replicas = *ro.Spec.Replicas
	}
	f.template(&ro.Spec.Template, ro.Spec.MinReadySeconds)
	if limit := ro.Spec.RevisionHistoryLimit; limit != nil && *limit == 0 {
		f.add(NoHistory, "spec.revisionHistoryLimit", "with 0, no earlier version is kept and undo is impossible: set at least 1")
	}
	if c := ro.Spec.Strategy.Canary; c != nil {
		f.canary(c)
	}
	if b := ro.Spec.Strategy.BlueGreen; b != nil {
		f.blueGreen(b)
	}
	return f.found
}

// finder collects hazards.
type finder struct {
	replicas int32
	found    []Hazard
}

func (f *finder) add(kind Kind, field, format string, args ...any) {
	f.found = append(f.found, Hazard{Kind: kind, Field: field, Text: fmt.Sprintf(format, args...)})
}
