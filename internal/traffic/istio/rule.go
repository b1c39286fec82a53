package istio

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// renderRule puts the DestinationRule into the answer as it should be, and returns its host.
func (r router) renderRule(want traffic.Split, out traffic.Objects) (host string, problems []spec.Problem) {
	if !r.subsets() {
		return "", nil
	}
	ref := r.destinationRule()
	object := out[ref.Key()]
	if object == nil {
		return "", []spec.Problem{spec.MissingObject(ref.Field, DestinationRule.Kind, ref.Name, ref.Namespace)}
	}
	after, text := r.rule(want, object)
	if text != "" {
		return "", []spec.Problem{{Field: ref.Field, Text: fmt.Sprintf("DestinationRule %q %s", ref.Name, text)}}
	}
	out[ref.Key()] = after
	host, _, _ = unstructured.NestedString(after.Object, "spec", "host") // which the API demands
	return host, nil
}

// rule returns a DestinationRule whose two subsets select the pods of the versions. Other subsets, and what else is in these two, stay.
func (r router) rule(want traffic.Split, object *unstructured.Unstructured) (*unstructured.Unstructured, string) {
	if by := object.GetAnnotations()[v1alpha1.ManagedByAnnotation]; by != "" && by != r.owner.Name {
		return nil, fmt.Sprintf("is managed by Rollout %q: name another one, or remove its annotation %s if there is no such Rollout", by, v1alpha1.ManagedByAnnotation)
	}
	out := object.DeepCopy()
	for _, version := range []struct{ subset, hash string }{{r.spec.DestinationRule.Canary, want.Canary.Hash}, {r.spec.DestinationRule.Stable, want.Stable.Hash}} {
		found := false
		for _, subset := range subsetsOf(out) {
			if name, _ := subset["name"].(string); name == version.subset {
				found = true
				setHash(subset, version.hash)
			}
		}
		if !found {
			return nil, fmt.Sprintf("has no subset %q: add it to spec.subsets", version.subset)
		}
	}
	annotations := map[string]string{v1alpha1.ManagedByAnnotation: r.owner.Name}
	for key, value := range out.GetAnnotations() {
		annotations[key] = value
	}
	annotations[v1alpha1.ManagedByAnnotation] = r.owner.Name
	out.SetAnnotations(annotations)
	if reflect.DeepEqual(object.Object, out.Object) {
		return object, ""
	}
	return out, ""
}

func subsetsOf(o *unstructured.Unstructured) []map[string]any {
	of, _ := o.Object["spec"].(map[string]any)
	list, _ := of["subsets"].([]any)
	var all []map[string]any
	for _, entry := range list {
		if subset, ok := entry.(map[string]any); ok {
			all = append(all, subset)
		}
	}
	return all
}

// setHash sets the label by which a subset selects the pods of a version, or removes it where there is none.
func setHash(subset map[string]any, hash string) {
	labels, _ := subset["labels"].(map[string]any)
	if hash == "" {
		delete(labels, v1alpha1.PodTemplateHashLabel)
		if len(labels) == 0 {
			delete(subset, "labels")
		}
		return
	}
	if labels == nil {
		labels = map[string]any{}
	}
	labels[v1alpha1.PodTemplateHashLabel] = hash
	subset["labels"] = labels
}

// ruleOwner is the Rollout that manages a DestinationRule, if one does.
func ruleOwner(object *unstructured.Unstructured) []types.NamespacedName {
	name := object.GetAnnotations()[v1alpha1.ManagedByAnnotation]
	if name == "" {
		return nil
	}
	return []types.NamespacedName{{Namespace: object.GetNamespace(), Name: name}}
}

// releaseRule returns a DestinationRule whose subsets select no version any more: the hash of one that is gone would select no pod at all.
func (r router) releaseRule(object *unstructured.Unstructured) *unstructured.Unstructured {
	annotations := object.GetAnnotations()
	if annotations[v1alpha1.ManagedByAnnotation] != r.owner.Name || object.GetNamespace() != r.owner.Namespace {
		return object
	}
	out := object.DeepCopy()
	for _, subset := range subsetsOf(out) {
		setHash(subset, "")
	}
	delete(annotations, v1alpha1.ManagedByAnnotation)
	if len(annotations) == 0 {
		annotations = nil
	}
	out.SetAnnotations(annotations)
	return out
}
