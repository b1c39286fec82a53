// Package note keeps what the Rollouts that share an object have put into it, in an annotation of that object. A router that finds its note again can
// take out what is its own, and only that.
//
// Anyone who can write the object can write its notes: they say what may be removed, never what a Rollout is allowed to do.
package note

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Notes are those of all Rollouts that share an object, by namespace/name. A note of which JSON leaves nothing is none.
type Notes[T any] struct {
	annotation string
	raw        map[string]json.RawMessage
	changed    bool
}

// Read reads the annotation. One that cannot be read has no notes, and is replaced when there is something to note.
func Read[T any](o *unstructured.Unstructured, annotation string) Notes[T] {
	n := Notes[T]{annotation: annotation}
	if json.Unmarshal([]byte(o.GetAnnotations()[annotation]), &n.raw) != nil || n.raw == nil {
		n.raw = map[string]json.RawMessage{}
	}
	return n
}

// Key is a Rollout's among the notes, NAMESPACE/NAME.
func Key(o traffic.Owner) string { return o.Namespace + "/" + o.Name }

// Of is a Rollout's note. One that cannot be read is empty.
func (n *Notes[T]) Of(o traffic.Owner) T {
	var note T
	if json.Unmarshal(n.raw[Key(o)], &note) != nil {
		var none T
		return none
	}
	return note
}

// Owners are the Rollouts that have a note, sorted by their keys.
func (n *Notes[T]) Owners() []traffic.Owner {
	var owners []traffic.Owner
	for _, key := range slices.Sorted(maps.Keys(n.raw)) {
		namespace, name, _ := strings.Cut(key, "/")
		owners = append(owners, traffic.Owner{Namespace: namespace, Name: name})
	}
	return owners
}

// Names are the names of the Owners.
func (n *Notes[T]) Names() []types.NamespacedName {
	var names []types.NamespacedName
	for _, o := range n.Owners() {
		names = append(names, types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
	}
	return names
}

// Set notes something of a Rollout, or removes its note if that is empty.
func (n *Notes[T]) Set(o traffic.Owner, to T) {
	key := Key(o)
	_, noted := n.raw[key]
	text, err := json.Marshal(to)
	empty := string(text) == "{}"
	switch {
	case err != nil: // texts and lists of them always can be
	case empty && noted:
		delete(n.raw, key)
		n.changed = true
	case empty || noted && bytes.Equal(n.normal(o), text):
	default:
		n.raw[key] = text
		n.changed = true
	}
}

// normal is a note as it would be written now.
func (n *Notes[T]) normal(o traffic.Owner) []byte {
	text, err := json.Marshal(n.Of(o))
	if err != nil {
		return nil
	}
	return text
}

// Without returns an object without a Rollout's note, the object itself if it has none.
func (n *Notes[T]) Without(o traffic.Owner, object *unstructured.Unstructured) *unstructured.Unstructured {
	var none T
	n.Set(o, none)
	if !n.changed {
		return object
	}
	out := object.DeepCopy()
	n.Write(out)
	return out
}

// Write writes the annotation if a note has changed.
func (n *Notes[T]) Write(o *unstructured.Unstructured) {
	if !n.changed {
		return
	}
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	text, err := json.Marshal(n.raw)
	if len(n.raw) == 0 || err != nil {
		delete(annotations, n.annotation)
	} else {
		annotations[n.annotation] = string(text)
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	o.SetAnnotations(annotations)
}
