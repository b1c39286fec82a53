package traefik

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic/note"
)

// mark is what a Rollout has put into a TraefikService.
type mark struct {
	note.Pair
	// Mirror is its entry in spec.mirroring.mirrors, as it was written.
	Mirror map[string]any `json:"mirror,omitempty"`
	// Alone: the list of mirrors was there, and empty, before it got the entry.
	Alone bool `json:"alone,omitempty"`
}

func readNotes(o *unstructured.Unstructured) note.Notes[mark] {
	return note.Read[mark](o, v1alpha1.TraefikNotesAnnotation)
}
