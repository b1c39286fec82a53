package target_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/internal/plan/target"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// The delay is for the newest versions that have pods: one without pods, or one that is spared, takes it from none.
func TestReplaced(t *testing.T) {
	version := func(hash string, pods int32) world.Version {
		v := world.Version{ReplicaSet: &appsv1.ReplicaSet{}, Hash: hash}
		v.Spec.Replicas = &pods
		return v
	}
	others := []world.Version{version("e", 2), version("d", 0), version("c", 2), version("b", 1), version("a", 0)}
	for name, row := range map[string]struct {
		spared *world.Version
		limit  int
		want   []string
	}{
		"no limit":            {nil, 9, []string{"e 30s", "c 30s", "b 30s"}},
		"a limit of two":      {nil, 2, []string{"e 30s", "c 30s", "b 0s"}},
		"the newest spared":   {&others[0], 1, []string{"c 30s", "b 0s"}},
		"none has a delay":    {nil, 0, []string{"e 0s", "c 0s", "b 0s"}},
		"one without is kept": {&others[1], 1, []string{"e 30s", "c 0s", "b 0s"}},
	} {
		var got []string
		for _, one := range target.Replaced(others, row.spared, row.limit, target.Idle{Delay: 30 * time.Second}) {
			got = append(got, fmt.Sprint(one.Version.Hash, " ", one.Delay))
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}
