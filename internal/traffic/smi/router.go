package smi

import (
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// GVK is the version in which TrafficSplits are rendered.
var GVK = schema.GroupVersionKind{Group: "split.smi-spec.io", Version: "v1alpha4", Kind: "TrafficSplit"}

// Kinds are those of the objects that the router writes.
func Kinds() []schema.GroupVersionKind { return []schema.GroupVersionKind{GVK} }

// New returns the router of a Rollout.
func New(owner traffic.Owner, s spec.SMI) traffic.Router {
	if s.Split == "" {
		s.Split = owner.Name
	}
	return router{owner, s}
}

type router struct {
	owner traffic.Owner
	spec  spec.SMI
}

// Name implements [traffic.Router].
func (router) Name() string { return "SMI" }

// Features implements [traffic.Router].
func (router) Features() traffic.Features { return traffic.Features{Additional: true, AnyMax: true} }

// Refs implements [traffic.Router].
func (r router) Refs() []traffic.Ref {
	return []traffic.Ref{{GroupVersionKind: GVK, NamespacedName: types.NamespacedName{Namespace: r.owner.Namespace, Name: r.spec.Split}}}
}

func (r router) key() traffic.Key { return r.Refs()[0].Key() }

// Render implements [traffic.Router].
func (r router) Render(want traffic.Split, have traffic.Objects) (traffic.Objects, []spec.Problem) {
	var problems []spec.Problem
	if len(want.Routes) > 0 {
		problems = append(problems, spec.Problem{Field: r.spec.Field, Text: "the router cannot carry out setHeaderRoute and setMirrorRoute: remove these steps"})
	}
	before := have[r.key()]
	if before != nil && !traffic.Controls(r.owner, before) {
		problems = append(problems, spec.Problem{Field: r.spec.NameField, Text: fmt.Sprintf(
			"Rollout does not own TrafficSplit `%s`: delete it, or give the TrafficSplit of the Rollout another name in trafficRouting.smi.trafficSplitName", r.spec.Split)})
		return traffic.Objects{r.key(): before}, problems
	}
	return traffic.Objects{r.key(): r.render(want, before)}, problems
}

// render returns the TrafficSplit of a split, the one that is there if it says the same.
func (r router) render(want traffic.Split, before *unstructured.Unstructured) *unstructured.Unstructured {
	root := r.spec.RootService
	if root == "" {
		root = want.Stable.Service
	}
	var backends []any
	for _, d := range slices.Concat([]traffic.Destination{want.Canary}, want.Additional, []traffic.Destination{want.Stable}) {
		backends = append(backends, map[string]any{"service": d.Service, "weight": int64(d.Weight)})
	}
	if before == nil {
		out := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"service": root, "backends": backends}}}
		out.SetGroupVersionKind(GVK)
		out.SetNamespace(r.owner.Namespace)
		out.SetName(r.spec.Split)
		out.SetOwnerReferences([]metav1.OwnerReference{traffic.OwnerReference(r.owner)})
		return out
	}
	content, _ := before.Object["spec"].(map[string]any)
	if content["service"] == root && reflect.DeepEqual(numbered(content["backends"]), backends) {
		return before
	}
	out := before.DeepCopy()
	content, ok := out.Object["spec"].(map[string]any)
	if !ok {
		content = map[string]any{}
		out.Object["spec"] = content
	}
	content["service"], content["backends"] = root, backends
	return out
}

// Weight implements [traffic.Router]. Without a TrafficSplit the mesh sends everything where the root Service does.
func (r router) Weight(of traffic.Split, have traffic.Objects) (traffic.Interval, bool) {
	o := have[r.key()]
	if o == nil {
		return traffic.Interval{}, true
	}
	content, _ := o.Object["spec"].(map[string]any)
	backends, ok := content["backends"].([]any)
	if !ok || !traffic.Controls(r.owner, o) {
		return traffic.Interval{}, false
	}
	var canary, total int64
	for _, entry := range backends {
		backend, _ := entry.(map[string]any)
		weight, ok := number(backend["weight"])
		if !ok {
			return traffic.Interval{}, false
		}
		if total += weight; backend["service"] == of.Canary.Service {
			canary += weight
		}
	}
	return traffic.Portion(canary, total, of.Max)
}

// Release implements [traffic.Router].
func (r router) Release(object *unstructured.Unstructured) *unstructured.Unstructured {
	if traffic.Controls(r.owner, object) {
		return nil
	}
	return object
}
