package plugin

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// A plugin that a Rollout does not name any more still splits traffic as it was told last. What it has to know to return that is noted in an
// annotation of the Rollout before it is asked for the first time: a plugin reads its settings from the Rollout, where they are no longer.

const (
	// mostNotes and longestNotes are how many plugins a Rollout notes, and in how many bytes: more is left out, settings first.
	mostNotes, longestNotes = 16, 64 << 10
)

// Note is what of a split has to be noted: all but versions and weights.
func Note(a Asked) Asked {
	return Asked{Plugin: a.Plugin, Config: a.Config, Max: a.Max, Canary: a.Canary, Stable: a.Stable, Managed: a.Managed}
}

// Notes are those of a Rollout, by the names of the plugins. What is no note is left out: anyone may have written it.
func Notes(ro *v1alpha1.Rollout) map[string]Asked {
	written := ro.Annotations[v1alpha1.PluginRoutesAnnotation]
	var all []Asked
	if written == "" || len(written) > 2*longestNotes || json.Unmarshal([]byte(written), &all) != nil {
		return nil
	}
	notes := map[string]Asked{}
	for _, a := range all[:min(len(all), mostNotes)] {
		if a.Plugin != "" {
			notes[a.Plugin] = Note(a)
		}
	}
	return notes
}

// WriteNotes are notes as an annotation has them, empty for none.
func WriteNotes(notes map[string]Asked) string {
	var all []Asked
	for _, a := range notes {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b Asked) int { return strings.Compare(a.Plugin, b.Plugin) })
	all = all[:min(len(all), mostNotes)]
	if len(all) == 0 {
		return ""
	}
	written, _ := json.Marshal(all) // texts and numbers
	if len(written) > longestNotes {
		for i := range all {
			all[i].Config = ""
		}
		written, _ = json.Marshal(all)
	}
	if len(written) > longestNotes {
		return ""
	}
	return string(written)
}

// Return is what a plugin is asked for that has a note: everything to the stable version, of which the hash is given.
func Return(note Asked, stable string) Asked {
	note.Returns, note.CanaryHash, note.StableHash = true, stable, stable
	return note
}

// Left is the object of a plugin that a Rollout no longer names, and that has not confirmed what it is asked for.
func Left(name types.NamespacedName, note, returned Asked) *unstructured.Unstructured {
	o := Object(name, Text(note), "", "")
	var services []any
	for _, service := range []string{note.Canary, note.Stable} {
		services = append(services, map[string]any{"service": service})
	}
	o.Object["spec"] = map[string]any{"asked": Text(note), "returned": Text(returned), "services": services}
	return o
}

// Owners are the Rollouts that have not got back their traffic from a plugin that they no longer name.
func Owners(object *unstructured.Unstructured) []types.NamespacedName {
	asked, _, _ := unstructured.NestedString(object.Object, "spec", "asked")
	returned, left, _ := unstructured.NestedString(object.Object, "spec", "returned")
	if !left || asked == returned {
		return nil
	}
	return []types.NamespacedName{RolloutOf(types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()})}
}

// RolloutOf is the Rollout of an object, whose name begins with the Rollout's.
func RolloutOf(name types.NamespacedName) types.NamespacedName {
	rollout, _, _ := strings.Cut(name.Name, "/")
	return types.NamespacedName{Namespace: name.Namespace, Name: rollout}
}

// Named is a Rollout that names a plugin as it did when the note was made, whatever its spec says now: the plugin reads its settings there.
func Named(ro v1alpha1.Rollout, note Asked) v1alpha1.Rollout {
	canary := &v1alpha1.CanaryStrategy{}
	if ro.Spec.Strategy.Canary != nil {
		canary = ro.Spec.Strategy.Canary.DeepCopy()
	}
	if note.Canary != "" {
		canary.CanaryService = note.Canary
	}
	if note.Stable != "" {
		canary.StableService = note.Stable
	}
	routing := &v1alpha1.RolloutTrafficRouting{Plugins: map[string]json.RawMessage{note.Plugin: json.RawMessage("{}")}}
	if json.Valid([]byte(note.Config)) {
		routing.Plugins[note.Plugin] = json.RawMessage(note.Config)
	}
	for _, name := range note.Managed {
		routing.ManagedRoutes = append(routing.ManagedRoutes, v1alpha1.ManagedRoute{Name: name})
	}
	canary.TrafficRouting = routing
	ro.Spec.Strategy.Canary = canary
	return ro
}
