package controller

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
)

// Each thing that is remembered of an owner goes when the owner does, whatever else is remembered, and nothing of others goes with it. What has
// come to its end leaves nothing behind.
func TestMemoryOfAnOwnerGoesWithIt(t *testing.T) {
	now := time.Unix(1000, 0)
	owner := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web"}}
	key, other := client.ObjectKeyFromObject(owner), client.ObjectKey{Namespace: "shop", Name: "api"}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "rs", ResourceVersion: "5"}}
	wait := []change.Note{{Topic: change.TopicWait, Text: "wait for pods"}}
	things := map[string]struct {
		remember func(*memory)
		end      func(*memory) // nil where only the owner's end is one
	}{
		"a write": {
			func(m *memory) { m.wrote(key, set, now) },
			func(m *memory) { m.unseen(key, versions{"rs": "5"}) },
		},
		"a deletion":                {func(m *memory) { m.deleted(key, set, now) }, func(m *memory) { m.unseen(key, nil) }},
		"a write without an answer": {func(m *memory) { m.failed(key, set, errors.New("timeout")) }, func(m *memory) { m.takeUncertain(key) }},
		"a comparison":              {func(m *memory) { m.verify(owner) }, nil},
		"a pass to repeat":          {func(m *memory) { m.backoff(key, now) }, func(m *memory) { m.finished(key) }},
		"a record":                  {func(m *memory) { m.recorded(key, now) }, nil},
		"a wait in the log":         {func(m *memory) { m.swapNotes(key, wait) }, func(m *memory) { m.swapNotes(key, nil) }},
		"a pod that was refused": {
			func(m *memory) { m.refused(key, refusedPods, "web-1-a", change.Refusal{At: now}) },
			func(m *memory) { m.accepted(key, refusedPods, "web-1-a") },
		},
		"a route that was refused": {
			func(m *memory) { m.refused(key, refusedRoutes, "web", change.Refusal{At: now}) },
			func(m *memory) { m.accepted(key, refusedRoutes, "web") },
		},
	}
	for name, thing := range things {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			m.wrote(other, set, now)
			thing.remember(m)
			if len(m.owners) != 2 {
				t.Fatal("it is not remembered")
			}
			if thing.end != nil {
				if thing.end(m); m.owners[key] != nil {
					t.Errorf("it is remembered after its end: %+v", m.owners[key])
				}
				thing.remember(m)
			}
			for _, more := range things {
				more.remember(m)
			}
			if m.forget(key); len(m.owners) != 1 || m.owners[other] == nil {
				t.Errorf("after the owner's end: %v", m.owners)
			}
		})
	}
}
