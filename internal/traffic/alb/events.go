package alb

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Report implements [traffic.Reporter].
func (r router) Report(from, to *unstructured.Unstructured) (all []traffic.Event) {
	if from == nil || to == nil {
		return nil
	}
	report := func(format string, args ...any) {
		all = append(all, traffic.Event{
			Reason: v1alpha1.EventPatchingALBIngress, Message: fmt.Sprintf("Updating Ingress `%s` ", to.GetName()) + fmt.Sprintf(format, args...),
		})
	}
	root, routes := r.noted(to)
	if groups := groupsOf(to, root); !slices.Equal(groupsOf(from, root), groups) && len(groups) > 0 {
		report("to desiredWeight '%d'", canaryWeight(groups))
	}
	_, former := r.noted(from)
	was, is := from.GetAnnotations(), to.GetAnnotations()
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		action, conditions := routes[name], r.conditionsKey(name)
		if was[action] != is[action] || was[conditions] != is[conditions] {
			report("to headerRoute '%s'", name)
		}
	}
	for name := range former {
		if _, kept := routes[name]; !kept {
			report("removing managed routes")
			break
		}
	}
	return all
}

// noted are the keys of the Rollout's actions, as an Ingress notes them: that of the weights, and those of header routes by the routes' names.
func (r router) noted(o *unstructured.Unstructured) (root string, routes map[string]string) {
	keys := readNotes(o.GetAnnotations()).keys(r.owner.Name)
	routes = map[string]string{}
	for _, key := range keys {
		switch name := nameIn(key); {
		case isConditions(key):
		case slices.Contains(keys, r.conditionsKey(name)):
			routes[name] = key
		default:
			root = key
		}
	}
	return root, routes
}

// groupsOf are the target groups of an action.
func groupsOf(o *unstructured.Unstructured, key string) []targetGroup {
	var a action
	if json.Unmarshal([]byte(o.GetAnnotations()[key]), &a) != nil {
		return nil
	}
	return a.ForwardConfig.TargetGroups
}

// canaryWeight is the weight of the canary, which comes first unless the stable version is alone.
func canaryWeight(groups []targetGroup) int64 {
	if len(groups) < 2 {
		return 0
	}
	return groups[0].Weight
}
