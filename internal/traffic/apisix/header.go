package apisix

import (
	"maps"
	"reflect"
	"regexp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// header returns the ApisixRoute of a header route, the one that is there if it is right.
func (r router) header(want traffic.Split, route traffic.HeaderRoute, base, before *unstructured.Unstructured) *unstructured.Unstructured {
	out := r.created(route.Name, base)
	if before != nil {
		out = before.DeepCopy()
	}
	copied := base.DeepCopy()
	content := copied.Object["spec"].(map[string]any)
	rules, _ := r.rules(copied) // they were found a moment ago
	var http []any
	for _, rule := range rules {
		http = append(http, toCanary(rule, want.Canary.Service, exprs(route)))
	}
	content["http"] = http
	delete(content, "stream")
	out.Object["spec"] = content
	if before != nil && reflect.DeepEqual(before.Object, out.Object) {
		return before
	}
	return out
}

// created is an ApisixRoute with the labels and annotations of another one, and nothing in it.
func (r router) created(name string, base *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	out.SetGroupVersionKind(GVK)
	out.SetNamespace(r.owner.Namespace)
	out.SetName(name)
	out.SetLabels(maps.Clone(base.GetLabels()))
	annotations := maps.Clone(base.GetAnnotations())
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	delete(annotations, v1alpha1.ApisixNotesAnnotation)
	if len(annotations) > 0 {
		out.SetAnnotations(annotations)
	}
	out.SetOwnerReferences([]metav1.OwnerReference{traffic.OwnerReference(r.owner)})
	return out
}

// toCanary makes of a rule one for requests that fit more conditions and go to the canary alone.
func toCanary(rule map[string]any, canary string, more []any) any {
	priority, _ := traffic.Number(rule["priority"])
	rule["priority"] = priority + 1
	match, ok := rule["match"].(map[string]any)
	if !ok {
		match = map[string]any{}
		rule["match"] = match
	}
	theirs, _ := match["exprs"].([]any)
	match["exprs"] = slices.Concat(theirs, more)
	list, _ := rule["backends"].([]any)
	i := slices.IndexFunc(list, func(entry any) bool {
		backend, _ := entry.(map[string]any)
		return backend["serviceName"] == canary
	})
	backend := runtime.DeepCopyJSON(list[i].(map[string]any))
	backend["weight"] = int64(v1alpha1.DefaultMaxTrafficWeight)
	rule["backends"] = []any{backend}
	return rule
}

// exprs are the conditions of a header route, all of which must hold.
func exprs(route traffic.HeaderRoute) []any {
	var all []any
	for _, m := range route.Match {
		op, value := "Equal", m.Value.Value
		switch m.Value.Kind {
		case traffic.Prefix:
			op, value = "RegexMatch", "^"+regexp.QuoteMeta(value)+".*"
		case traffic.Regex:
			op = "RegexMatch"
		case traffic.Exact:
		}
		all = append(all, map[string]any{"subject": map[string]any{"scope": "Header", "name": m.Header}, "op": op, "value": value})
	}
	return all
}
