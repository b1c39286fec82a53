package view_test

import (
	"slices"
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/view"
)

// TestC38PingPongIsTheServiceOfTheVersion: whichever of the two Services takes its turn as the stable one, each version is shown with the
// Service that sends to it.
func TestC38PingPongIsTheServiceOfTheVersion(t *testing.T) {
	for turn, want := range map[v1alpha1.PingPongType]map[string]view.Tag{
		v1alpha1.Ping: {"old": view.TagPing, "new": view.TagPong},
		v1alpha1.Pong: {"old": view.TagPong, "new": view.TagPing},
	} {
		w := canaryWorld(2, weight(50)).hashes("new", "old").version(1, "old", "web:1", 2).version(2, "new", "web:2", 1).version(3, "idle", "web:0", 0)
		w.Rollout.Status.Canary.StablePingPong = turn
		for _, revision := range view.Of(w.Objects, now).Revisions {
			for _, set := range revision.ReplicaSets {
				has := slices.DeleteFunc(slices.Clone(set.Tags), func(tag view.Tag) bool { return tag != view.TagPing && tag != view.TagPong })
				if tag, ok := want[set.Name[len("web-"):]]; ok != (len(has) == 1) || ok && has[0] != tag {
					t.Errorf("%s is stable: %s is shown as %v, want %q", turn, set.Name, has, tag)
				}
			}
		}
	}
}
