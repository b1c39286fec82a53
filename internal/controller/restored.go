package controller

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// restoredEvery is how often an event may say that someone else changes the routes of a Rollout: a tool that reverts them does so all the time.
const restoredEvery = time.Minute

// tellRestored reports whether a route had to be written again as it had been written before, and says so in an event: nobody but someone else can have
// changed it.
func (r *RolloutReconciler) tellRestored(rollout *v1alpha1.Rollout, to *unstructured.Unstructured) (restored bool) {
	restored, tell := r.memory.restores(client.ObjectKeyFromObject(rollout), to, r.clock.Now())
	if !tell {
		return restored
	}
	r.events.Event(rollout, corev1.EventTypeWarning, v1alpha1.EventRouteRestored, clean.Text(fmt.Sprintf(
		"Restored %s %q: someone else changed what this Rollout sets there; if a GitOps tool does, have it ignore these fields", to.GetKind(), to.GetName())))
	return restored
}

// restores remembers what an object is written as, and reports whether that is what it was written as before, and whether an event may say so.
func (m *memory) restores(owner client.ObjectKey, to *unstructured.Unstructured, now time.Time) (restored, tell bool) {
	key, content := traffic.KeyOf(to), contentOf(to)
	m.of(owner, func(r *recollection) {
		before, known := r.wrote[key]
		if r.wrote == nil {
			r.wrote = map[traffic.Key]uint64{}
		}
		r.wrote[key] = content
		restored = known && before == content
		if restored && (r.restored.IsZero() || now.Sub(r.restored) >= restoredEvery || now.Before(r.restored)) {
			r.restored, tell = now, true
		}
	})
	return restored, tell
}

// forgetsRoute forgets an object that is the Rollout's no longer.
func (m *memory) forgetsRoute(owner client.ObjectKey, key traffic.Key) {
	m.of(owner, func(r *recollection) { delete(r.wrote, key) })
}

// contentOf tells apart what people write into an object, without what the API server and other controllers keep there.
func contentOf(o *unstructured.Unstructured) uint64 {
	content := maps.Clone(o.Object)
	delete(content, "status")
	content["metadata"] = map[string]any{"labels": o.GetLabels(), "annotations": o.GetAnnotations()}
	h := fnv.New64a()
	if json.NewEncoder(h).Encode(content) != nil { // which unstructured objects always can be
		return 0
	}
	return h.Sum64()
}
