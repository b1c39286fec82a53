package istio

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// note is what a Rollout has put into a VirtualService.
type note struct {
	// Routes are the names of its managed routes.
	Routes []string `json:"routes,omitempty"`
	// Services are those besides the stable one that it gives weight to.
	Services []string `json:"services,omitempty"`
	// Added are those of them whose destinations it added.
	Added []string `json:"added,omitempty"`
}

// notes are those of all Rollouts that share a VirtualService, by namespace/name.
type notes struct {
	raw     map[string]json.RawMessage
	changed bool
}

// readNotes reads the annotation. One that cannot be read notes nothing, and is replaced when there is something to note.
func readNotes(o *unstructured.Unstructured) notes {
	n := notes{}
	if json.Unmarshal([]byte(o.GetAnnotations()[v1alpha1.IstioNotesAnnotation]), &n.raw) != nil || n.raw == nil {
		n.raw = map[string]json.RawMessage{}
	}
	return n
}

func noteKey(o traffic.Owner) string { return o.Namespace + "/" + o.Name }

func (n *notes) at(key string) note {
	var of note
	if json.Unmarshal(n.raw[key], &of) != nil {
		return note{}
	}
	return of
}

func (n *notes) owners() []types.NamespacedName {
	var owners []types.NamespacedName
	for _, key := range slices.Sorted(maps.Keys(n.raw)) {
		namespace, name, _ := strings.Cut(key, "/")
		owners = append(owners, types.NamespacedName{Namespace: namespace, Name: name})
	}
	return owners
}

func (n *notes) set(owner traffic.Owner, to note) {
	key := noteKey(owner)
	_, noted := n.raw[key]
	empty := len(to.Routes)+len(to.Services)+len(to.Added) == 0
	switch {
	case empty && noted:
		delete(n.raw, key)
	case empty || reflect.DeepEqual(n.at(key), to):
		return
	default:
		text, err := json.Marshal(to)
		if err != nil {
			return // texts always can be
		}
		n.raw[key] = text
	}
	n.changed = true
}

func (n *notes) write(o *unstructured.Unstructured) {
	if !n.changed {
		return
	}
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	text, err := json.Marshal(n.raw)
	if len(n.raw) == 0 || err != nil {
		delete(annotations, v1alpha1.IstioNotesAnnotation)
	} else {
		annotations[v1alpha1.IstioNotesAnnotation] = string(text)
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	o.SetAnnotations(annotations)
}
