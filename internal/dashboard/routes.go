package dashboard

import (
	"cmp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/plan"
)

// routeData is an object that decides where requests go.
type routeData struct{ Kind, Namespace, Name, Spec string }

// routeBytes is how much of an object's spec is shown: people write their own rules into them.
const routeBytes = 8 << 10

// routesOf are the Services and the routers' objects of a Rollout. Of a Service it is the selector that matters.
func routesOf(seen plan.Observed) []routeData {
	var all []routeData
	for _, s := range seen.Services {
		all = append(all, routeData{"Service", s.Namespace, s.Name, shown(map[string]any{"selector": s.Spec.Selector})})
	}
	for _, o := range seen.Routes {
		if o != nil {
			all = append(all, routeData{o.GetKind(), o.GetNamespace(), o.GetName(), shown(o.Object["spec"])})
		}
	}
	slices.SortFunc(all, func(a, b routeData) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}

func shown(v any) string {
	text, err := yaml.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(text) > routeBytes {
		return strings.ToValidUTF8(string(text[:routeBytes]), "") + "\n…"
	}
	return string(text)
}
