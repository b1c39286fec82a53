package world_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// A version is within the window if fewer versions than that came between it and the stable one.
func TestWithinWindow(t *testing.T) {
	at := func(second int64) *world.Version {
		return &world.Version{ReplicaSet: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Unix(second, 0)}}}
	}
	others := []world.Version{*at(5), *at(20), *at(30), *at(90)} // two of them between 10 and 60
	for name, row := range map[string]struct {
		window      int
		new, stable *world.Version
		others      []world.Version
		want        bool
	}{
		"none between, and a window of one":  {1, at(10), at(60), nil, true},
		"two between, and a window of two":   {2, at(10), at(60), others, false},
		"two between, and a window of three": {3, at(10), at(60), others, true},
		"no window":                          {0, at(10), at(60), nil, false},
		"a newer version":                    {9, at(60), at(10), nil, false},
		"of the same second":                 {9, at(10), at(10), nil, false},
		"no stable version":                  {9, at(10), nil, nil, false},
	} {
		w := &world.World{}
		w.New, w.Stable, w.Others = row.new, row.stable, row.others
		w.Spec.RollbackWindow = row.window
		if got := w.WithinWindow(); got != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
