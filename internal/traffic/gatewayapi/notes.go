package gatewayapi

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/note"
)

// mark is what a Rollout has put into a route beyond weights.
type mark struct {
	// Rules are the fingerprints of the rules of its managed routes.
	Rules []string `json:"rules,omitempty"`
	// Sessions are the fingerprints of those that keep clients on a version.
	Sessions []string `json:"sessions,omitempty"`
	// Cookie is the one that its backendRefs set.
	Cookie string `json:"cookie,omitempty"`
	// Services are those beside the stable one that it gives weight to, each with the outlines of the rules into which it was put.
	Services map[string][]string `json:"services,omitempty"`
	// Stable is the Service that has the rest, while there are others.
	Stable string `json:"stable,omitempty"`
	// Label is the key of the label that says that an update is in progress.
	Label string `json:"label,omitempty"`
}

func (m mark) empty() bool {
	return len(m.Rules) == 0 && len(m.Sessions) == 0 && len(m.Services) == 0 && m.Label == ""
}

func readNotes(o *unstructured.Unstructured) note.Notes[mark] {
	return note.Read[mark](o, v1alpha1.GatewayAPINotesAnnotation)
}

// adders are who added managed rules, by the fingerprints of these.
func (r *route) adders() map[string][]adder {
	all := map[string][]adder{}
	for _, owner := range r.notes.Owners() {
		noted := r.notes.Of(owner)
		for _, print := range noted.Rules {
			all[print] = append(all[print], adder{namePrefix(owner), false})
		}
		for _, print := range noted.Sessions {
			all[print] = append(all[print], adder{namePrefix(owner), true})
		}
	}
	return all
}

// labelledByOthers reports whether any other Rollout wants the label.
func (r *route) labelledByOthers(key string) bool {
	return slices.ContainsFunc(r.notes.Owners(), func(owner traffic.Owner) bool {
		return note.Key(owner) != note.Key(r.owner) && r.notes.Of(owner).Label == key
	})
}
