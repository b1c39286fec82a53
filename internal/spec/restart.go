package spec

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// MaxUnavailable is how many pods may be missing while the version stays the same, as when pods are restarted.
func (r Rollout) MaxUnavailable() int32 {
	switch s := r.Strategy.(type) {
	case Canary:
		return s.MaxUnavailable
	case BlueGreen:
		return s.MaxUnavailable
	}
	return 0 // the spec has no strategy, and is refused
}

// blueGreenUnavailable resolves maxUnavailable of a blue-green rollout, rounded down as everywhere.
func (p *problems) blueGreenUnavailable(v *intstr.IntOrString, replicas int32) int32 {
	return min(p.amount(blueGreenField+".maxUnavailable", v, v1alpha1.DefaultBlueGreenMaxUnavailable, replicas, false), replicas)
}
