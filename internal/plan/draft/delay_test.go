package draft_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// A ReplicaSet without a number of pods has one, as Kubernetes reads it, and is scaled like any other.
func TestAReplicaSetWithoutANumber(t *testing.T) {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}
	w := world.New(world.Observed{Rollout: &v1alpha1.Rollout{}, ReplicaSets: []*appsv1.ReplicaSet{set}}, spec.Rollout{Strategy: spec.Canary{}})
	j := &change.Journal{}
	d := draft.New(w, progress.New(w, j), j)
	d.Scale(w.New, 1, "that is what it has")
	if d.IsEdited(w.New) {
		t.Error("it is given the one pod that it has")
	}
	d.Scale(w.New, 3, "three are wanted")
	if got := d.Edited(w.New).Spec.Replicas; got == nil || *got != 3 {
		t.Errorf("it is given %v pods, not 3", got)
	}
}

// A delay that goes on gets the length that the field has now, counted from its beginning. One that is over does not begin again, whatever becomes of
// the field.
func TestDelays(t *testing.T) {
	now := time.Unix(1000, 0)
	at := func(second int64) string { return time.Unix(second, 0).UTC().Format(time.RFC3339) }
	for name, row := range map[string]struct {
		deadline, delay string
		want            string
		edited          bool
	}{
		"none so far":                     {"", "", at(1030), true},
		"the same length":                 {at(1010), "canary.scaleDownDelaySeconds=30", at(1010), false},
		"another length":                  {at(1010), "canary.scaleDownDelaySeconds=20", at(1020), true},
		"another length, over by now":     {at(1010), "canary.scaleDownDelaySeconds=60", at(980), true},
		"another length, but it was over": {at(990), "canary.scaleDownDelaySeconds=10", at(990), false},
		"it ends in this moment":          {at(1000), "canary.scaleDownDelaySeconds=10", at(1000), false},
		"of another field":                {at(1010), "canary.abortScaleDownDelaySeconds=20", at(1010), false},
		"of a controller without lengths": {at(1010), "", at(1010), false},
		"of a length that is none":        {at(1010), "canary.scaleDownDelaySeconds=x", at(1010), false},
		"a deadline that is none":         {"soon", "canary.scaleDownDelaySeconds=20", at(1030), true},
	} {
		set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Annotations: map[string]string{}}}
		if row.deadline != "" {
			set.Annotations[v1alpha1.ScaleDownDeadlineAnnotation] = row.deadline
		}
		if row.delay != "" {
			set.Annotations[v1alpha1.ScaleDownDelayAnnotation] = row.delay
		}
		w := world.New(world.Observed{Rollout: &v1alpha1.Rollout{}, ReplicaSets: []*appsv1.ReplicaSet{set}, Now: now}, spec.Rollout{Strategy: spec.Canary{}})
		j := &change.Journal{}
		d := draft.New(w, progress.New(w, j), j)
		got := d.StartDelay(w.New, d.AfterUse(30*time.Second))
		if at := got.UTC().Format(time.RFC3339); at != row.want || d.IsEdited(w.New) != row.edited {
			t.Errorf("%s: it ends at %s and is written: %t, want %s and %t", name, at, d.IsEdited(w.New), row.want, row.edited)
		}
	}
}
