package gatewayapi

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// note is what a Rollout has put into a route beyond weights.
type note struct {
	// Rules are the fingerprints of its managed rules.
	Rules []string `json:"rules,omitempty"`
	// Services are those beside the stable one that it gives weight to, each with the outlines of the rules into which it was put.
	Services map[string][]string `json:"services,omitempty"`
	// Label is the key of the label that says that an update is in progress.
	Label string `json:"label,omitempty"`
}

func (n note) empty() bool { return len(n.Rules) == 0 && len(n.Services) == 0 && n.Label == "" }

// notes are those of all Rollouts that share a route, by namespace/name.
type notes struct {
	raw     map[string]json.RawMessage
	changed bool
}

// readNotes reads the annotation. One that cannot be read notes nothing, and is written anew when there is something to note.
func readNotes(o *unstructured.Unstructured) notes {
	n := notes{}
	if json.Unmarshal([]byte(o.GetAnnotations()[v1alpha1.GatewayAPINotesAnnotation]), &n.raw) != nil || n.raw == nil {
		n.raw = map[string]json.RawMessage{}
	}
	return n
}

func noteKey(o traffic.Owner) string { return o.Namespace + "/" + o.Name }

func (n *notes) of(owner traffic.Owner) note { return n.at(noteKey(owner)) }

func (n *notes) at(key string) note {
	var of note
	if json.Unmarshal(n.raw[key], &of) != nil {
		return note{}
	}
	return of
}

// rules are the owners of managed rules by the fingerprints of these.
func (n *notes) rules() map[string][]string {
	all := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(n.raw)) {
		namespace, name, _ := strings.Cut(key, "/")
		for _, print := range n.at(key).Rules {
			all[print] = append(all[print], namePrefix(traffic.Owner{Namespace: namespace, Name: name}))
		}
	}
	return all
}

// labelled reports whether any other Rollout than one wants the label.
func (n *notes) labelled(key string, but traffic.Owner) bool {
	for owner := range n.raw {
		if owner != noteKey(but) && n.at(owner).Label == key {
			return true
		}
	}
	return false
}

func (n *notes) set(owner traffic.Owner, to note) {
	key := noteKey(owner)
	_, noted := n.raw[key]
	switch {
	case to.empty() && noted:
		delete(n.raw, key)
	case to.empty() || reflect.DeepEqual(n.at(key), to):
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
		delete(annotations, v1alpha1.GatewayAPINotesAnnotation)
	} else {
		annotations[v1alpha1.GatewayAPINotesAnnotation] = string(text)
	}
	o.SetAnnotations(orNil(annotations))
}

// orNil is no map at all where it would be empty.
func orNil(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}
