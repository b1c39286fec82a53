package experiment

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// A ReplicaSet that is not there has no pods, and one without a number has one.
func TestDesired(t *testing.T) {
	for want, set := range map[int32]*appsv1.ReplicaSet{0: nil, 1: {}, 3: {Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3))}}} {
		if got := desired(set); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}
