package watch

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// store has one object or none, and counts how often it is asked.
type store struct {
	client.Reader
	has   bool
	asked int
}

func (s *store) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	s.asked++
	if !s.has {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "rollouts"}, key.Name)
	}
	o.SetName(key.Name)
	return nil
}

// An event may come before its object is in the cache. It is not lost then. Old events of objects that are gone cost no request.
func TestAnEventThatComesBeforeItsObject(t *testing.T) {
	now := time.Unix(10000, 0)
	for name, row := range map[string]struct {
		cached, live bool
		age          time.Duration
		found        bool
		asked        int // of the API server
	}{
		"in the cache":         {cached: true, live: true, found: true},
		"not yet in the cache": {live: true, found: true, asked: 1},
		"gone":                 {asked: 1},
		"gone for long":        {age: behind},
	} {
		cached, live := &store{has: row.cached}, &store{has: row.live}
		e := &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web.1"}, InvolvedObject: corev1.ObjectReference{Kind: "Rollout", Namespace: "shop", Name: "web"},
			FirstTimestamp: metav1.NewTime(now.Add(-row.age)), LastTimestamp: metav1.NewTime(now.Add(-row.age)),
		}
		object, err := objectOf(t.Context(), cached, live, e, now)
		if (err == nil) != row.found || row.found && object.GetName() != "web" || live.asked != row.asked || err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v, after %d requests", name, err, live.asked)
		}
	}
}
