package experiment

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// A ReplicaSet that is not there has no pods, and one without a number has one.
func TestDesired(t *testing.T) {
	for want, set := range map[int32]*appsv1.ReplicaSet{0: nil, 1: {}, 3: {Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3))}}} {
		if got := desired(set); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}

// Of several ReplicaSets of one template, as two processes may have made them, the first by name is used, in whatever order they are listed.
func TestSetOf(t *testing.T) {
	set := func(name, template string, deleted bool) *appsv1.ReplicaSet {
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1alpha1.ExperimentTemplateNameAnnotation: template}}}
		if deleted {
			rs.DeletionTimestamp = &metav1.Time{}
		}
		return rs
	}
	a, b, gone, other := set("a", "t", false), set("b", "t", false), set("0", "t", true), set("1", "u", false)
	for name, row := range map[string]struct {
		sets []*appsv1.ReplicaSet
		want *appsv1.ReplicaSet
	}{
		"in order":      {[]*appsv1.ReplicaSet{a, b}, a},
		"out of order":  {[]*appsv1.ReplicaSet{b, a}, a},
		"being deleted": {[]*appsv1.ReplicaSet{gone, b}, b},
		"of another":    {[]*appsv1.ReplicaSet{other, b}, b},
		"none":          {[]*appsv1.ReplicaSet{other, gone}, nil},
	} {
		if got := (Observed{ReplicaSets: row.sets}).setOf("t"); got != row.want {
			t.Errorf("%s: %v is its set, not %v", name, got, row.want)
		}
	}
}
