package alb

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// notes are the keys of the annotations that Rollouts have written, by the Rollouts' names.
type notes map[string][]string

// readNotes reads the annotation. One that cannot be read notes nothing.
func readNotes(annotations map[string]string) notes {
	var n notes
	if json.Unmarshal([]byte(annotations[v1alpha1.ManagedALBAnnotationsAnnotation]), &n) != nil || n == nil {
		return notes{}
	}
	return n
}

func (n notes) write(annotations map[string]string) {
	delete(annotations, v1alpha1.ManagedALBAnnotationsAnnotation)
	if len(n) > 0 {
		annotations[v1alpha1.ManagedALBAnnotationsAnnotation] = text(n)
	}
}

// keys are those of a Rollout that have the form of what the router writes: anyone who can write the note could have written others into it.
func (n notes) keys(rollout string) []string {
	return slices.DeleteFunc(slices.Clone(n[rollout]), func(key string) bool { return nameIn(key) == "" })
}

// nameIn is the name of the Service or route in the key of an action or of conditions; empty if it is no such key.
func nameIn(key string) string {
	_, name, _ := strings.Cut(key, "/")
	for _, prefix := range []string{"actions.", "conditions."} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return ""
}

// Owners are the Rollouts that have something noted in an Ingress.
func Owners(object *unstructured.Unstructured) []types.NamespacedName {
	var owners []types.NamespacedName
	for _, name := range slices.Sorted(maps.Keys(readNotes(object.GetAnnotations()))) {
		owners = append(owners, types.NamespacedName{Namespace: object.GetNamespace(), Name: name})
	}
	return owners
}

// isConditions reports whether a key is one of conditions.
func isConditions(key string) bool {
	_, name, _ := strings.Cut(key, "/")
	return strings.HasPrefix(name, "conditions.")
}
