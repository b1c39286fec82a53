package routers

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Kinds are those of the objects into which routers put something, other than those that only Rollouts name.
func Kinds() []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for _, row := range table {
		for _, kind := range row.kinds {
			if !slices.Contains(all, kind) {
				all = append(all, kind)
			}
		}
	}
	return all
}

// Writes reports whether routers put something into objects of a kind.
func Writes(gvk schema.GroupVersionKind) bool { return WritesKind(gvk.GroupKind()) }

// WritesKind is [Writes] for a kind of any version.
func WritesKind(gk schema.GroupKind) bool {
	return slices.ContainsFunc(table, func(r row) bool { return r.writes(gk) })
}

// FormatKey writes the key of an object: with its group and version unless it is of one of the [Kinds].
func FormatKey(key traffic.Key) string {
	kind := strings.ToLower(key.Kind)
	if spec.IsCustomKind(key.GroupKind()) { // which none of the Kinds is
		kind = key.Kind + "." + key.Version + "." + key.Group
	}
	return kind + "/" + key.NamespacedName.String()
}

// ParseKey reads what [FormatKey] writes.
func ParseKey(text string) (traffic.Key, bool) {
	parts := strings.Split(strings.TrimSpace(text), "/")
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return traffic.Key{}, false
	}
	name := types.NamespacedName{Namespace: parts[1], Name: parts[2]}
	if gvk, _ := schema.ParseKindArg(parts[0]); gvk != nil && spec.IsCustomKind(gvk.GroupKind()) {
		return traffic.Key{GroupVersionKind: *gvk, NamespacedName: name}, true
	}
	for _, gvk := range Kinds() {
		if strings.ToLower(gvk.Kind) == parts[0] {
			return traffic.Key{GroupVersionKind: gvk, NamespacedName: name}, true
		}
	}
	return traffic.Key{}, false
}

// mostOwners is how many Rollouts are believed to share one object: more cannot have a rule of their own in it.
const mostOwners = 128

// Owners are the Rollouts whose routers have put something into an object that must be taken out again when they are gone. The object's
// metadata tells, which is what its tenant may have written: so of Rollouts of other namespaces it is believed only where these may
// use the object.
func Owners(object *unstructured.Unstructured, policy spec.Policy) []types.NamespacedName {
	key := traffic.KeyOf(object)
	var owners []types.NamespacedName
	for _, row := range rowsOf(object.GroupVersionKind()) {
		for _, owner := range row.owners(object) {
			if traffic.MayUse(traffic.Owner{Namespace: owner.Namespace, Name: owner.Name}, policy, key, object) && !slices.Contains(owners, owner) {
				owners = append(owners, owner)
			}
			if len(owners) == mostOwners {
				return owners
			}
		}
	}
	return owners
}

// Names reports whether an object of a router refers to one of the Services anywhere in its spec, or in an action of the AWS load balancer.
func Names(object *unstructured.Unstructured, services map[string]bool) bool {
	if namesAny(object.Object["spec"], services) {
		return true
	}
	for key, text := range object.GetAnnotations() {
		var action any
		if strings.Contains(key, "/actions.") && json.Unmarshal([]byte(text), &action) == nil && namesAny(action, services) {
			return true
		}
	}
	return false
}

func namesAny(value any, services map[string]bool) bool {
	switch v := value.(type) {
	case map[string]any:
		name, _ := v["name"].(string)
		kind, typed := v["kind"].(string)
		if services[name] && (!typed || kind == "Service" || kind == "MeshService") || strings.Contains(name, "_svc_") && services[serviceIn(name)] {
			return true
		}
		for _, key := range []string{"host", "service", "serviceName", "ServiceName", "kuma.io/service"} {
			if text, ok := v[key].(string); ok && services[serviceIn(text)] {
				return true
			}
		}
		for _, below := range v {
			if namesAny(below, services) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(below any) bool { return namesAny(below, services) })
	}
	return false
}

// serviceIn is the first name in a host, an address, or a name that Kuma makes, such as web_shop_svc_80: a Service, where it leads to one. No
// Service has an underscore in its name.
func serviceIn(text string) string {
	if _, rest, found := strings.Cut(text, "://"); found {
		text = rest
	}
	if i := strings.IndexAny(text, ".:/_"); i >= 0 {
		text = text[:i]
	}
	return text
}

// Release returns an object without what the routers of a Rollout put there, as [traffic.Router] does, whatever the Rollout's spec
// says now.
func Release(owner traffic.Owner, object *unstructured.Unstructured) *unstructured.Unstructured {
	for _, row := range rowsOf(object.GroupVersionKind()) {
		if object = row.blank(owner).Release(object); object == nil {
			return nil
		}
	}
	return object
}

// Return returns an object that the Rollout no longer names without what its routers put there, as [Release] does, and with the traffic of its
// versions on the stable Service, as far as the router notes which that is.
func Return(owner traffic.Owner, object *unstructured.Unstructured) *unstructured.Unstructured {
	for _, row := range rowsOf(object.GroupVersionKind()) {
		if r, ok := row.blank(owner).(traffic.Returner); ok {
			object = r.Return(object)
		}
	}
	return Release(owner, object)
}
