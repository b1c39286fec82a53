package ambassador

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// canary returns a canary Mapping as it should be: the one that is there, if it is so.
func (r router) canary(base, before *unstructured.Unstructured, address string, weight int32) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	if before != nil {
		out = before.DeepCopy()
	}
	out.SetGroupVersionKind(GVK)
	out.SetNamespace(r.owner.Namespace)
	out.SetName(spec.CanaryMapping(base.GetName()))
	if !traffic.Controls(r.owner, out) {
		out.SetOwnerReferences([]metav1.OwnerReference{traffic.OwnerReference(r.owner)})
	}
	copyLabels(out, base) // by which Hosts choose Mappings
	content := runtime.DeepCopyJSON(base.Object["spec"].(map[string]any))
	content["service"], content["weight"] = address, int64(weight)
	out.Object["spec"] = content
	if before != nil && reflect.DeepEqual(before.Object, out.Object) {
		return before
	}
	return out
}

func copyLabels(to, from *unstructured.Unstructured) {
	labels := to.GetLabels()
	for key, value := range from.GetLabels() {
		if labels == nil {
			labels = map[string]string{}
		}
		labels[key] = value
	}
	if len(labels) > 0 {
		to.SetLabels(labels)
	}
}

// lead returns the address of a Mapping's service with another Service in it. It reports false if the address leads to none of the first
// name. The scheme, the namespace and the port stay.
func lead(address, from, to string) (string, bool) {
	scheme, rest := "", address
	if before, after, found := strings.Cut(address, "://"); found {
		scheme, rest = before+"://", after
	}
	end := strings.IndexAny(rest, ".:/")
	if end < 0 {
		end = len(rest)
	}
	if from == "" || rest[:end] != from {
		return address, false
	}
	return scheme + to + rest[end:], true
}
