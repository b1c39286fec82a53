package routers

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// needs are what a cluster must have before Rollouts can name objects of a group: the product whose kinds they are, how its CRDs are installed,
// and the component of the installation that grants the rights on them, empty where the controller always has these.
var needs = map[string]struct{ product, install, component string }{
	"networking.istio.io": {"Istio", "helm install istio-base base --repo https://istio-release.storage.googleapis.com/charts -n istio-system --create-namespace", "istio"},
	"gateway.networking.k8s.io": {
		"the Gateway API", "kubectl apply --server-side -f https://github.com/kubernetes-sigs/gateway-api/releases/latest/download/experimental-install.yaml", "",
	},
	"traefik.io":          {"Traefik", "helm install traefik traefik --repo https://traefik.github.io/charts", "traefik"},
	"traefik.containo.us": {"Traefik", "helm install traefik traefik --repo https://traefik.github.io/charts", "traefik"},
	"apisix.apache.org":   {"APISIX", "helm install apisix apisix --repo https://apache.github.io/apisix-helm-chart", "apisix"},
	"split.smi-spec.io":   {"SMI", "kubectl apply -f https://raw.githubusercontent.com/servicemeshinterface/smi-sdk-go/v0.5.0/crds/split.yaml", "smi"},
	"getambassador.io":    {"Emissary", "helm install emissary-crds oci://ghcr.io/emissary-ingress/emissary-crds-chart", "ambassador"},
	"x.getambassador.io":  {"Emissary", "helm install emissary-crds oci://ghcr.io/emissary-ingress/emissary-crds-chart", "ambassador"},
}

// Rights says how the controller gets the rights on a kind that it lacks.
func Rights(gvk schema.GroupVersionKind) string {
	const to = "grant the controller get, list, watch, and patch on its kind"
	need, known := needs[gvk.Group]
	switch {
	case spec.IsCustomKind(gvk.GroupKind()):
		return to + ", with a ClusterRole that has the label " + v1alpha1.CustomRoutesLabel + `: "true", and the Helm value rbac.routers.custom=true or the kustomize component config/routers/custom`
	case gvk.Group == "networking.k8s.io":
		return to + ", for the router alb with the Helm value rbac.routers.alb=true or the kustomize component config/routers/alb"
	case !known || need.component == "":
		return to + ", which the roles in config/rbac and the Helm chart have: install them again"
	}
	return fmt.Sprintf("%s, with the Helm value rbac.routers.%[2]s=true or the kustomize component config/routers/%[2]s", to, need.component)
}

// unserved is a router some of whose kinds the cluster does not have.
type unserved struct {
	traffic.Router
	kinds []schema.GroupKind
}

// Render implements [traffic.Router]: that an object is missing is no news where its kind is.
func (r unserved) Render(want traffic.Split, have traffic.Objects) (traffic.Objects, []spec.Problem) {
	out, problems := r.Router.Render(want, have)
	for i, problem := range problems {
		for _, kind := range r.kinds {
			if custom := spec.IsCustomKind(kind); custom && strings.HasPrefix(problem.Missing, kind.Kind+" ") {
				problems[i].Text = fmt.Sprintf("%s: the cluster does not have the kind %s in this version, or it is cluster-scoped: install its CRD, or name a namespaced kind", problem.Missing, kind)
			}
			if need, known := needs[kind.Group]; known && strings.HasPrefix(problem.Missing, kind.Kind+" ") {
				problems[i].Text = fmt.Sprintf("%s: the cluster does not have the kind %s: install %s, for example with: %s", problem.Missing, kind, need.product, need.install)
			}
		}
	}
	return out, problems
}

// served returns a router that knows which of its kinds the cluster does not have.
func served(router traffic.Router, policy spec.Policy) traffic.Router {
	if len(policy.Unserved) == 0 {
		return router
	}
	var lacks []schema.GroupKind
	if selector, ok := router.(traffic.Selector); ok {
		for _, s := range selector.Selections() {
			if slices.Contains(policy.Unserved, s.GroupKind()) {
				lacks = append(lacks, s.GroupKind())
			}
		}
	}
	for _, ref := range router.Refs() {
		kind := ref.GroupKind()
		elsewhere := func(other traffic.Ref) bool {
			return other.Kind == kind.Kind && !slices.Contains(policy.Unserved, other.GroupKind())
		}
		if !slices.Contains(lacks, kind) && !slices.ContainsFunc(router.Refs(), elsewhere) {
			lacks = append(lacks, kind)
		}
	}
	if len(lacks) == 0 {
		return router
	}
	return unserved{router, lacks}
}
