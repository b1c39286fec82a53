package hazard

import (
	"fmt"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Hazard is one thing that may hurt.
type Hazard struct {
	// Kind is which hazard it is, in one word for programs.
	Kind Kind
	// Field is the path of what it comes from, beginning with "spec.".
	Field string
	// Text says what may happen and what to write instead.
	Text string
}

func (h Hazard) String() string { return h.Field + ": " + h.Text }

// Kind is a sort of hazard.
type Kind string

// The kinds of hazards.
const (
	// CanaryOverload: fewer canary pods than their share of the traffic.
	CanaryOverload Kind = "CanaryOverload"
	// EmptiedCanary: the canary's pods go and come back.
	EmptiedCanary Kind = "EmptiedCanary"
	// CoarseWeight: without a router, too few pods for the weight that is asked for.
	CoarseWeight Kind = "CoarseWeight"
	// AllUnavailable: all pods may be missing at the same time.
	AllUnavailable Kind = "AllUnavailable"
	// NoReadiness: nothing tells when a pod can serve.
	NoReadiness Kind = "NoReadiness"
	// MovingImage: the image's name may mean another image tomorrow.
	MovingImage Kind = "MovingImage"
	// ShortDelay: pods may go while traffic still comes.
	ShortDelay Kind = "ShortDelay"
	// KeptForever: pods of an aborted update stay.
	KeptForever Kind = "KeptForever"
	// LargePreview: the preview has more pods than the version that serves.
	LargePreview Kind = "LargePreview"
	// NoEffect: the field does nothing where it stands, and upstream's manifests may have it.
	NoEffect Kind = "NoEffect"
	// NoHistory: there is no version to return to.
	NoHistory Kind = "NoHistory"
)

// Of finds the hazards of a Rollout, in the order of its spec.
func Of(ro *v1alpha1.Rollout) []Hazard {
	f := finder{replicas: v1alpha1.DefaultReplicas}
	if ro.Spec.Replicas != nil {
		f.replicas = *ro.Spec.Replicas
	}
	f.template(&ro.Spec.Template, ro.Spec.MinReadySeconds)
	if limit := ro.Spec.RevisionHistoryLimit; limit != nil && *limit == 0 {
		f.add(NoHistory, "spec.revisionHistoryLimit", "with 0 no earlier version is kept, and there is nothing to undo to: keep at least 1")
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
