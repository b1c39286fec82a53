package nginx

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// canary returns the canary Ingress as it should be: the one that is there, if it is so.
func (r router) canary(want traffic.Split, stable, before *unstructured.Unstructured, rules []any) *unstructured.Unstructured {
	out := r.created(stable)
	if before != nil {
		out = before.DeepCopy()
	}
	ingress := map[string]any{"rules": rules}
	stableSpec, _ := stable.Object["spec"].(map[string]any)
	for _, key := range []string{"ingressClassName", "tls"} {
		if value, ok := stableSpec[key]; ok {
			ingress[key] = runtime.DeepCopyJSONValue(value)
		}
	}
	out.Object["spec"] = ingress
	r.annotate(out, want, stable)
	if before != nil && reflect.DeepEqual(before.Object, out.Object) {
		return before
	}
	return out
}

// created is a canary Ingress with nothing in it.
func (r router) created(stable *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	out.SetGroupVersionKind(GVK)
	out.SetNamespace(r.owner.Namespace)
	out.SetName(CanaryName(r.owner.Name, stable.GetName()))
	out.SetOwnerReferences([]metav1.OwnerReference{traffic.OwnerReference(r.owner)})
	return out
}

// classAnnotation names the class of an Ingress where the field does not.
const classAnnotation = "kubernetes.io/ingress.class"

// annotate writes the weight and what the spec requests, and removes what it no longer requests. Other annotations stay.
func (r router) annotate(o *unstructured.Unstructured, want traffic.Split, stable *unstructured.Unstructured) {
	wanted := map[string]string{}
	if class, ok := stable.GetAnnotations()[classAnnotation]; ok {
		wanted[classAnnotation] = class
	}
	maps.Copy(wanted, r.spec.Annotations)
	ours := slices.Sorted(maps.Keys(wanted))
	total := r.spec.Prefix + "/canary-weight-total"
	wanted[r.spec.Prefix+"/canary"] = "true"
	wanted[r.spec.Prefix+"/canary-weight"] = strconv.Itoa(int(want.Canary.Weight))
	if r.spec.MaxWeight > 0 || want.Max != v1alpha1.DefaultMaxTrafficWeight {
		wanted[total] = strconv.Itoa(int(want.Max))
	}

	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, total) // no matter who wrote it, the weights would mean something else
	for _, key := range noted(annotations) {
		delete(annotations, key)
	}
	maps.Copy(annotations, wanted)
	note(annotations, ours, r.spec.Prefix)
	o.SetAnnotations(annotations)
}

// noted are the keys of the annotations that the spec asked for last. A note that cannot be read notes nothing.
func noted(annotations map[string]string) []string {
	var keys []string
	if json.Unmarshal([]byte(annotations[v1alpha1.NginxAnnotationsAnnotation]), &keys) != nil {
		return nil
	}
	return keys
}

// note notes them, and those that carry the weight, which are others when the prefix is.
func note(annotations map[string]string, keys []string, prefix string) {
	for _, name := range []string{"/canary", "/canary-weight", "/canary-weight-total"} {
		if _, ok := annotations[prefix+name]; ok {
			keys = append(keys, prefix+name)
		}
	}
	slices.Sort(keys)
	text, err := json.Marshal(slices.Compact(keys))
	if err != nil {
		return // texts always can be
	}
	annotations[v1alpha1.NginxAnnotationsAnnotation] = string(text)
}

// canaryRules are the rules of a stable Ingress with their paths to the stable Service, which go to the canary Service here. Rules and
// paths without one are left out; that includes rules without HTTP and paths to resources other than Services.
func canaryRules(stable *unstructured.Unstructured, from, to string) []any {
	stableSpec, _ := stable.Object["spec"].(map[string]any)
	list, _ := stableSpec["rules"].([]any)
	var rules []any
	for _, entry := range list {
		rule, _ := entry.(map[string]any)
		http, _ := rule["http"].(map[string]any)
		paths, _ := http["paths"].([]any)
		var ours []any
		for _, path := range paths {
			if p := canaryPath(path, from, to); p != nil {
				ours = append(ours, p)
			}
		}
		if len(ours) == 0 {
			continue
		}
		copied, copiedHTTP := maps.Clone(rule), maps.Clone(http)
		copiedHTTP["paths"] = ours
		copied["http"] = copiedHTTP
		rules = append(rules, runtime.DeepCopyJSONValue(copied))
	}
	return rules
}

// canaryPath is a path with another Service, nil if it does not go to the stable one.
func canaryPath(entry any, from, to string) any {
	path, _ := entry.(map[string]any)
	backend, _ := path["backend"].(map[string]any)
	service, _ := backend["service"].(map[string]any)
	if name, _ := service["name"].(string); name != from || from == "" {
		return nil
	}
	path, backend, service = maps.Clone(path), maps.Clone(backend), maps.Clone(service)
	service["name"] = to
	backend["service"] = service
	path["backend"] = backend
	return path
}
