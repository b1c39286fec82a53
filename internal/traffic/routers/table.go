package routers

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/alb"
	"github.com/sluice-delivery/sluice/internal/traffic/ambassador"
	"github.com/sluice-delivery/sluice/internal/traffic/apisix"
	"github.com/sluice-delivery/sluice/internal/traffic/custom"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
	"github.com/sluice-delivery/sluice/internal/traffic/istio"
	"github.com/sluice-delivery/sluice/internal/traffic/nginx"
	"github.com/sluice-delivery/sluice/internal/traffic/plugin"
	"github.com/sluice-delivery/sluice/internal/traffic/smi"
	"github.com/sluice-delivery/sluice/internal/traffic/traefik"
)

// table has a row for each router: the kinds that it writes, who has put something into an object of these, and how it is made from its part
// of the spec. What else the rest of the program asks about routers follows from it.
var table = []row{
	of(istio.Kinds, istio.Owners, istio.New),
	of(nginx.Kinds, traffic.ControllingRollout, func(o traffic.Owner, n spec.Nginx, _ spec.Policy) traffic.Router { return nginx.New(o, n) }),
	of(alb.Kinds, alb.Owners, func(o traffic.Owner, a spec.ALB, _ spec.Policy) traffic.Router { return alb.New(o, a) }),
	of(apisix.Kinds, apisix.Owners, func(o traffic.Owner, a spec.Apisix, _ spec.Policy) traffic.Router { return apisix.New(o, a) }),
	of(smi.Kinds, traffic.ControllingRollout, func(o traffic.Owner, s spec.SMI, _ spec.Policy) traffic.Router { return smi.New(o, s) }),
	of(ambassador.Kinds, traffic.ControllingRollout, func(o traffic.Owner, a spec.Ambassador, _ spec.Policy) traffic.Router { return ambassador.New(o, a) }),
	of(traefik.Kinds, traefik.Owners, func(o traffic.Owner, t spec.Traefik, _ spec.Policy) traffic.Router { return traefik.New(o, t) }),
	of(gatewayapi.Kinds, gatewayapi.Owners, gatewayapi.New),
	of(plugin.Kinds, plugin.Owners, plugin.New).forKinds(isPlugin),
	of(custom.Kinds, custom.Owners, custom.New).forKinds(spec.IsCustomKind),
}

func isPlugin(kind schema.GroupKind) bool { return kind == plugin.Kind.GroupKind() }

// row is one router.
type row struct {
	kinds []schema.GroupVersionKind
	// further reports whether the router writes objects of a kind that is not among its kinds; nil if there is none.
	further func(schema.GroupKind) bool
	owners  func(*unstructured.Unstructured) []types.NamespacedName
	// open makes the router of a Rollout, if this part of its spec is for this one.
	open func(traffic.Owner, spec.Router, spec.Policy) (router traffic.Router, ok bool)
	// blank makes one that knows no more than whose it is, which is enough to release objects.
	blank func(traffic.Owner) traffic.Router
}

// of makes the row of a router with a type of its own in package spec.
func of[S spec.Router](kinds func() []schema.GroupVersionKind, owners func(*unstructured.Unstructured) []types.NamespacedName,
	make func(traffic.Owner, S, spec.Policy) traffic.Router,
) row {
	return row{
		kinds: kinds(), owners: owners,
		open: func(owner traffic.Owner, of spec.Router, policy spec.Policy) (traffic.Router, bool) {
			s, ok := of.(S)
			if !ok {
				return nil, false
			}
			return make(owner, s, policy), true
		},
		blank: func(owner traffic.Owner) traffic.Router {
			var nothing S
			return make(owner, nothing, spec.Policy{})
		},
	}
}

// forKinds is the row of a router that writes kinds which only Rollouts name.
func (r row) forKinds(further func(schema.GroupKind) bool) row {
	r.further = further
	return r
}

func (r row) writes(kind schema.GroupKind) bool {
	return slices.ContainsFunc(r.kinds, func(k schema.GroupVersionKind) bool { return k.GroupKind() == kind }) || r.further != nil && r.further(kind)
}

// rowsOf are the routers that write objects of a kind, whatever the version is in which these came: several write Ingresses.
func rowsOf(gvk schema.GroupVersionKind) []row {
	return slices.DeleteFunc(slices.Clone(table), func(r row) bool { return !r.writes(gvk.GroupKind()) })
}
