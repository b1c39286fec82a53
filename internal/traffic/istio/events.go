package istio

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Report implements [traffic.Reporter].
func (r router) Report(from, to *unstructured.Unstructured) []traffic.Event {
	switch {
	case from == nil || to == nil:
	case to.GroupVersionKind() == DestinationRule:
		return r.reportRule(from, to)
	case to.GroupVersionKind() == VirtualService:
		return r.reportService(from, to)
	}
	return nil
}

// reportRule reports which versions the subsets select.
func (r router) reportRule(from, to *unstructured.Unstructured) []traffic.Event {
	names := []string{r.spec.DestinationRule.Canary, r.spec.DestinationRule.Stable}
	was, is := hashes(from, names), hashes(to, names)
	if was == is {
		return nil
	}
	return []traffic.Event{{
		Reason:  v1alpha1.EventUpdatedDestinationRule,
		Message: fmt.Sprintf("DestinationRule %s subset updated (canary: %s, stable: %s)", to.GetName(), is[0], is[1]),
	}}
}

// hashes are those of the versions that the two subsets select.
func hashes(o *unstructured.Unstructured, names []string) (all [2]string) {
	for _, subset := range subsetsOf(o) {
		name, _ := subset["name"].(string)
		labels, _ := subset["labels"].(map[string]any)
		for i := range names {
			if name == names[i] {
				all[i], _ = labels[v1alpha1.PodTemplateHashLabel].(string)
			}
		}
	}
	return all
}

// reportService reports the weights and the managed routes of a VirtualService.
func (r router) reportService(from, to *unstructured.Unstructured) (all []traffic.Event) {
	report := func(format string, args ...any) {
		all = append(all, traffic.Event{
			Reason: v1alpha1.EventUpdatedVirtualService, Message: fmt.Sprintf("VirtualService `%s` ", to.GetName()) + fmt.Sprintf(format, args...),
		})
	}
	before, after := open(r, from, traffic.Split{}), open(r, to, traffic.Split{})
	had, has := before.mine.Routes, after.mine.Routes
	by := after.mine
	if len(by.Services) == 0 { // the canary has nothing any more, so only the earlier note names it
		by = before.mine
	}
	by.Added = slices.Concat(before.mine.Added, after.mine.Added)
	before.mine, after.mine = by, by
	if weights := after.weights(); !reflect.DeepEqual(before.weights(), weights) && len(weights) > 0 {
		report("set to desiredWeight '%d'", weights[0][canary])
	}
	for _, name := range has {
		was, is := managedIn(from, name), managedIn(to, name)
		kind := "headerRoute"
		if is["mirror"] != nil {
			kind = "mirrorRoute"
		}
		if !reflect.DeepEqual(was, is) {
			report("set %s '%s'", kind, name)
		}
	}
	if len(had) > 0 && len(has) == 0 {
		report("removed all managed routes.")
	}
	return all
}

// weights are those of the canary, and of all experiments together, in each route that the notes say is split.
func (s *service) weights() (all []map[part]int64) {
	for _, list := range [][]any{s.http, s.list("tls"), s.list("tcp")} {
		for _, entry := range list {
			of, _ := entry.(route)
			given := map[part]int64{}
			for _, d := range destinations(of) {
				if is := s.noted(d); is != foreign {
					given[is] += number(d.(map[string]any)["weight"])
				}
			}
			if _, split := given[stable]; split {
				delete(given, stable) // which has the rest
				maps.DeleteFunc(given, func(_ part, weight int64) bool { return weight == 0 })
				all = append(all, given)
			}
		}
	}
	return all
}

// managedIn is a managed route of a VirtualService, without the weights that a mirror route shares with the weighted one.
func managedIn(o *unstructured.Unstructured, name string) route {
	of, _ := o.Object["spec"].(map[string]any)
	list, _ := of["http"].([]any)
	for _, entry := range list {
		if is, _ := entry.(route); is["name"] == name {
			is = maps.Clone(is)
			if is["mirror"] != nil {
				delete(is, "route")
			}
			return is
		}
	}
	return nil
}

// Troubles implements [traffic.TroubleReporter].
func (r router) Troubles(have traffic.Objects) []traffic.Trouble {
	missing := func(kind, reason string) []traffic.Trouble {
		return traffic.MissingObjects(r.Refs(), kind, have, func(name string) traffic.Event {
			return traffic.Event{Warning: true, Reason: reason, Message: fmt.Sprintf("%s `%s` not found", kind, name)}
		})
	}
	return append(missing(DestinationRule.Kind, v1alpha1.EventDestinationRuleNotFound), missing(VirtualService.Kind, v1alpha1.EventVirtualServiceNotFound)...)
}
