package gatewayapi

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// withSelected adds the routes that were found by their labels to those that the spec names. One that is named as well is split once, as the name
// says.
func withSelected(g spec.GatewayAPI, selected []spec.SelectedObject) spec.GatewayAPI {
	routes := slices.Clone(g.Routes)
	for _, s := range g.Selectors {
		for _, one := range foundBy(s, selected) {
			if slices.ContainsFunc(routes, func(r spec.GatewayRoute) bool { return r.Kind == s.Kind && r.Name == one.Name }) {
				continue
			}
			routes = append(routes, spec.GatewayRoute{Field: fmt.Sprintf("%s[%q]", s.Field, one.Name), Kind: s.Kind, Name: one.Name, Managed: s.Managed})
		}
	}
	g.Routes = routes
	return g
}

func foundBy(s spec.GatewaySelector, selected []spec.SelectedObject) (found []spec.SelectedObject) {
	for _, one := range selected {
		if one.Field == s.Field && len(found) < spec.MostSelected {
			found = append(found, one)
		}
	}
	return found
}

// Selections implements [traffic.Selector].
func (r router) Selections() (all []traffic.Selection) {
	for _, s := range r.spec.Selectors {
		if labels, err := metav1.LabelSelectorAsSelector(s.Labels); err == nil && !labels.Empty() {
			all = append(all, traffic.Selection{GroupVersionKind: GVK(s.Kind), Selector: labels, Namespace: r.owner.Namespace, Field: s.Field})
		}
	}
	return all
}

// miscounted reports selectors that find no routes, or more than they may.
func (r router) miscounted(p *problems) {
	for _, s := range r.spec.Selectors {
		n := 0
		for _, one := range r.policy.Selected {
			if one.Field == s.Field {
				n++
			}
		}
		text := metav1.FormatLabelSelector(s.Labels)
		switch {
		case n == 0:
			p.append(spec.Problem{
				Field: s.Field, Missing: fmt.Sprintf("%s with the labels %s", s.Kind, text),
				Text: fmt.Sprintf("no %s of namespace %s has the labels %s: label at least one route, or remove the selector", s.Kind, r.owner.Namespace, text),
			})
		case n > spec.MostSelected:
			p.add(s.Field, "more than %d %ss of namespace %s have the labels %s: select fewer", spec.MostSelected, s.Kind, r.owner.Namespace, text)
		}
	}
}
