package gatewayapi

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// longestReason is how much of what a Gateway's controller says is repeated.
const longestReason = 300

// Standing is what the Gateways to which a route is attached say about its current generation. A route with several parents is in force when each
// has spoken, at least one has accepted it, and none of those that have lacks one of its backends, or leaves out rules while Rollouts have added some.
// A parent that does not accept the route sends no requests by it, so that weights do not matter there.
func Standing(object *unstructured.Unstructured) traffic.Standing {
	statuses := listAt(object.Object, "status", "parents")
	all := parents{route: fmt.Sprintf("%s %q", object.GetKind(), object.GetName()), generation: object.GetGeneration(), whole: hasAdded(object)}
	for _, entry := range listAt(object.Object, "spec", "parentRefs") {
		ref, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		spoke := false
		for _, entry := range statuses {
			status, _ := entry.(map[string]any)
			of, _ := status["parentRef"].(map[string]any)
			if parentKey(of, object.GetNamespace()) == parentKey(ref, object.GetNamespace()) {
				spoke = true
				all.add(parentName(ref, object.GetNamespace()), status)
			}
		}
		if !spoke {
			all.await(parentName(ref, object.GetNamespace()))
		}
	}
	standing := all.standing()
	standing.Silent = len(statuses) == 0
	return standing
}

// parents gathers what the parents of a route say.
type parents struct {
	route      string
	generation int64
	// whole: each rule of the route matters, because Rollouts added some; otherwise one that a Gateway leaves out may be anybody's.
	whole                    bool
	accepted                 bool
	awaited, refused, broken []string
}

func (p *parents) await(parent string) {
	p.awaited = append(p.awaited, fmt.Sprintf("%s to accept generation %d of %s", parent, p.generation, p.route))
}

func (p *parents) add(parent string, status map[string]any) {
	accepted, why := p.condition(status, "Accepted")
	resolved, lacks := p.condition(status, "ResolvedRefs")
	partly, left := p.condition(status, "PartiallyInvalid")
	switch {
	case accepted == "False":
		p.refused = append(p.refused, fmt.Sprintf("%s does not accept %s: %s", parent, p.route, why))
	case accepted != "True":
		p.await(parent)
	case resolved == "False":
		p.broken = append(p.broken, fmt.Sprintf("%s cannot resolve the references of %s: %s", parent, p.route, lacks))
	case resolved != "True":
		p.await(parent)
	case partly == "True" && p.whole:
		p.broken = append(p.broken, fmt.Sprintf("%s leaves out rules of %s: %s", parent, p.route, left))
	default:
		p.accepted = true
	}
}

// hasAdded reports whether a route has rules that Rollouts added, for header routes or sessions, by their notes.
func hasAdded(object *unstructured.Unstructured) bool {
	notes := readNotes(object)
	return slices.ContainsFunc(notes.Owners(), func(owner traffic.Owner) bool {
		of := notes.Of(owner)
		return len(of.Rules)+len(of.Sessions) > 0
	})
}

// condition is the status of a condition that is about the current generation, empty where there is none, and what it says.
func (p *parents) condition(status map[string]any, kind string) (value, text string) {
	list, _ := status["conditions"].([]any)
	for _, entry := range list {
		c, _ := entry.(map[string]any)
		observed, _ := traffic.Number(c["observedGeneration"])
		if c["type"] != kind || observed < p.generation {
			continue
		}
		value, _ = c["status"].(string)
		reason, _ := c["reason"].(string)
		message, _ := c["message"].(string)
		return value, cut(strings.TrimSuffix(reason+": "+message, ": "))
	}
	return "", ""
}

func (p *parents) standing() traffic.Standing {
	switch {
	case len(p.broken) > 0:
		return traffic.Standing{Refused: strings.Join(p.broken, "; ")}
	case len(p.awaited) > 0:
		return traffic.Standing{Awaited: strings.Join(p.awaited, ", ")}
	case !p.accepted && len(p.refused) > 0:
		return traffic.Standing{Refused: strings.Join(p.refused, "; ")}
	}
	return traffic.Standing{}
}

func cut(text string) string {
	if len(text) > longestReason {
		return strings.ToValidUTF8(text[:longestReason], "") + "…"
	}
	return text
}

// parentKey tells the parents of a route apart.
func parentKey(ref map[string]any, namespace string) string {
	port, _ := traffic.Number(ref["port"])
	return fmt.Sprintf("%s/%s/%s/%d", orText(ref, "group", GVK("").Group), parentName(ref, namespace), orText(ref, "sectionName", ""), port)
}

// parentName is a parent as people know it.
func parentName(ref map[string]any, namespace string) string {
	return fmt.Sprintf("%s %s/%s", orText(ref, "kind", "Gateway"), orText(ref, "namespace", namespace), orText(ref, "name", ""))
}

func orText(of map[string]any, key, otherwise string) string {
	if text, ok := of[key].(string); ok {
		return text
	}
	return otherwise
}

func listAt(of map[string]any, field, below string) []any {
	content, _ := of[field].(map[string]any)
	list, _ := content[below].([]any)
	return list
}
