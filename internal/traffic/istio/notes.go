package istio

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic/note"
)

// mark is what a Rollout has put into a VirtualService.
type mark struct {
	// Routes are the names of its managed routes.
	Routes []string `json:"routes,omitempty"`
	// Services are those besides the stable one that it gives weight to.
	Services []string `json:"services,omitempty"`
	// Stable is the Service that has the rest, while there are others.
	Stable string `json:"stable,omitempty"`
	// Subsets are those of the stable version and of the canary, in this order, where subsets tell the versions apart.
	Subsets []string `json:"subsets,omitempty"`
	// Added are those of them whose destinations it added.
	Added []string `json:"added,omitempty"`
	// Cookie is the one that its destinations set.
	Cookie string `json:"cookie,omitempty"`
}

func readNotes(o *unstructured.Unstructured) note.Notes[mark] {
	return note.Read[mark](o, v1alpha1.IstioNotesAnnotation)
}
