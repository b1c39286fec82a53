// Package plugin splits traffic by programs that the administrator lists in the ConfigMap argo-rollouts-config.
//
// What a plugin does is not an object of the cluster that could be rendered and read: it is asked for, and verified. So the router renders an
// object that exists in the controller alone. Its spec is the split that the plugin has said to be in force; the shell that is to write it
// asks the plugin, and shows it only when the plugin has answered. Until then nobody knows where requests go, and nothing that counts on it
// happens. What a plugin refuses stands in the object's status, with the split that it was asked for.
package plugin

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Kind is that of the object. No API server knows it.
var Kind = schema.GroupVersionKind{Group: "plugins.sluice.internal", Version: "v1", Kind: "TrafficRouterPlugin"}

// Asked is what a plugin is asked for: all of the split that it can be told.
type Asked struct {
	Plugin string `json:"plugin"`
	// Config is what the Rollout's spec says below the plugin's name.
	Config     string                       `json:"config,omitempty"`
	Max        int32                        `json:"max"`
	Weight     int32                        `json:"weight"`
	CanaryHash string                       `json:"canaryHash,omitempty"`
	StableHash string                       `json:"stableHash,omitempty"`
	Canary     string                       `json:"canary,omitempty"`
	Stable     string                       `json:"stable,omitempty"`
	Additional []v1alpha1.WeightDestination `json:"additional,omitempty"`
	Headers    []v1alpha1.SetHeaderRoute    `json:"headers,omitempty"`
	Mirrors    []v1alpha1.SetMirrorRoute    `json:"mirrors,omitempty"`
	// Managed are the names of all routes that steps may add.
	Managed []string `json:"managed,omitempty"`
	// Returns: the Rollout does not name the plugin any more, which is to send everything to the stable version.
	Returns bool `json:"returns,omitempty"`
}

// Kinds are none: there is nothing in the cluster.
func Kinds() []schema.GroupVersionKind { return nil }

// New returns the router of a plugin.
func New(owner traffic.Owner, p spec.Plugin, _ spec.Policy) traffic.Router { return router{owner, p} }

type router struct {
	owner traffic.Owner
	spec  spec.Plugin
}

// Name implements [traffic.Router].
func (r router) Name() string { return r.spec.Name }

// Features implements [traffic.Router]: what a plugin cannot do it says when it is asked.
func (r router) Features() traffic.Features {
	return traffic.Features{Headers: true, Mirrors: true, Additional: true, AnyMax: true}
}

func (r router) ref() traffic.Ref {
	return traffic.Ref{GroupVersionKind: Kind, NamespacedName: types.NamespacedName{Namespace: r.owner.Namespace, Name: r.owner.Name + "/" + r.spec.Name}}
}

// Refs implements [traffic.Router].
func (r router) Refs() []traffic.Ref { return []traffic.Ref{r.ref()} }

// Render implements [traffic.Router].
func (r router) Render(want traffic.Split, have traffic.Objects) (traffic.Objects, []spec.Problem) {
	key := r.ref().Key()
	asked := Text(r.asked(want))
	object := have[key]
	if r.spec.Sessions.Cookie != "" && want.Canary.Weight > 0 && want.Canary.Weight < want.Max {
		out := traffic.Objects{}
		if object != nil {
			out[key] = object
		}
		return out, []spec.Problem{{Field: r.spec.Field, Text: "its binary cannot keep clients on a version: remove trafficRouting.sessionAffinity, or preferBinary of the plugin in the ConfigMap " + v1alpha1.ConfigMapName}}
	}
	if object != nil {
		if inForce, _, _ := unstructured.NestedString(object.Object, "spec", "asked"); inForce == asked {
			return traffic.Objects{key: object}, nil
		}
		if refused, _, _ := unstructured.NestedString(object.Object, "status", "asked"); refused == asked {
			problem, _, _ := unstructured.NestedString(object.Object, "status", "problem")
			return traffic.Objects{key: object}, []spec.Problem{{Field: r.spec.Field, Text: problem}}
		}
	}
	return traffic.Objects{key: Object(key.NamespacedName, asked, "", "")}, nil
}

// Object is the object of a router: what is in force, and what was refused with the reason, each empty for none.
func Object(name types.NamespacedName, inForce, refused, problem string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(Kind)
	o.SetNamespace(name.Namespace)
	o.SetName(name.Name)
	if inForce != "" {
		o.Object["spec"] = map[string]any{"asked": inForce}
	}
	if refused != "" {
		o.Object["status"] = map[string]any{"asked": refused, "problem": problem}
	}
	return o
}

// Weight implements [traffic.Router].
func (r router) Weight(_ traffic.Split, have traffic.Objects) (traffic.Interval, bool) {
	object := have[r.ref().Key()]
	if object == nil {
		return traffic.Interval{}, false
	}
	asked, ok := InForce(object)
	return traffic.Interval{Least: asked.Weight, Most: asked.Weight}, ok
}

// InForce is what the object's spec says.
func InForce(object *unstructured.Unstructured) (Asked, bool) {
	written, _, _ := unstructured.NestedString(object.Object, "spec", "asked")
	var asked Asked
	return asked, written != "" && json.Unmarshal([]byte(written), &asked) == nil
}

// Release implements [traffic.Router]: the object goes with the Rollout, but for one that shows what a plugin is to return.
func (r router) Release(object *unstructured.Unstructured) *unstructured.Unstructured {
	if len(Owners(object)) == 0 {
		return nil
	}
	out := object.DeepCopy()
	returned, _, _ := unstructured.NestedString(object.Object, "spec", "returned")
	out.Object["spec"].(map[string]any)["asked"] = returned
	return out
}

// Text is a split as an object has it.
func Text(a Asked) string {
	written, err := json.Marshal(a)
	if err != nil {
		panic(err) // it is made of texts and numbers
	}
	return string(written)
}

func (r router) asked(s traffic.Split) Asked {
	a := Asked{
		Plugin: r.spec.Name, Config: string(r.spec.Config), Max: s.Max, Weight: s.Canary.Weight, Managed: s.Managed,
		CanaryHash: s.Canary.Hash, StableHash: s.Stable.Hash, Canary: s.Canary.Service, Stable: s.Stable.Service,
	}
	for _, d := range s.Additional {
		a.Additional = append(a.Additional, v1alpha1.WeightDestination{Weight: d.Weight, ServiceName: d.Service, PodTemplateHash: d.Hash})
	}
	for _, route := range s.Routes {
		switch one := route.(type) {
		case traffic.HeaderRoute:
			a.Headers = append(a.Headers, headerRoute(one))
		case traffic.MirrorRoute:
			a.Mirrors = append(a.Mirrors, mirrorRoute(one))
		}
	}
	return a
}

func headerRoute(h traffic.HeaderRoute) v1alpha1.SetHeaderRoute {
	out := v1alpha1.SetHeaderRoute{Name: h.Name}
	for _, m := range h.Match {
		out.Match = append(out.Match, v1alpha1.HeaderRoutingMatch{HeaderName: m.Header, HeaderValue: stringMatch(&m.Value)})
	}
	return out
}

func mirrorRoute(m traffic.MirrorRoute) v1alpha1.SetMirrorRoute {
	out := v1alpha1.SetMirrorRoute{Name: m.Name, Percentage: &m.Percent}
	for _, match := range m.Match {
		one := v1alpha1.RouteMatch{Method: stringMatch(match.Method), Path: stringMatch(match.Path)}
		for _, h := range match.Headers {
			if one.Headers == nil {
				one.Headers = map[string]v1alpha1.StringMatch{}
			}
			one.Headers[h.Header] = *stringMatch(&h.Value)
		}
		out.Match = append(out.Match, one)
	}
	return out
}

func stringMatch(m *traffic.StringMatch) *v1alpha1.StringMatch {
	if m == nil {
		return nil
	}
	switch m.Kind {
	case traffic.Exact:
		return &v1alpha1.StringMatch{Exact: m.Value}
	case traffic.Prefix:
		return &v1alpha1.StringMatch{Prefix: m.Value}
	case traffic.Regex:
	}
	return &v1alpha1.StringMatch{Regex: m.Value}
}
