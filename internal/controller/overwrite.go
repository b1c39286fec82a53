package controller

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// unreadableStatus are the fields of an object's status that could not be decoded.
func unreadableStatus(obj client.Object) v1alpha1.Unreadable {
	switch o := obj.(type) {
	case *v1alpha1.Rollout:
		return o.Unreadable.Of("status")
	case *v1alpha1.AnalysisRun:
		return o.Unreadable.Of("status")
	case *v1alpha1.Experiment:
		return o.Unreadable.Of("status")
	}
	return nil
}

// overwriting is a merge patch that also writes fields which could not be decoded. In Go they are empty before and maybe after, so no
// difference would ever replace what is stored.
type overwriting struct {
	client.Patch
	fields v1alpha1.Unreadable
}

// Data is the patch for an object.
func (o overwriting) Data(obj client.Object) ([]byte, error) {
	data, err := o.Patch.Data(obj)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var patch, wanted map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, fmt.Errorf("read a patch: %w", err)
	}
	if err := json.Unmarshal(text, &wanted); err != nil {
		return nil, fmt.Errorf("read an object: %w", err)
	}
	for _, field := range o.fields {
		list, _, _ := strings.Cut(field.Path, "[") // a merge patch replaces lists as a whole
		overwrite(patch, wanted, strings.Split(list, "."))
	}
	return json.Marshal(patch)
}

// overwrite has a patch set a field to what is wanted, or take it away.
func overwrite(patch, wanted map[string]any, path []string) {
	value, there := wanted[path[0]]
	if len(path) == 1 || !there {
		patch[path[0]] = value // null where there is none
		return
	}
	inside, isObject := value.(map[string]any)
	if !isObject {
		patch[path[0]] = value
		return
	}
	below, ok := patch[path[0]].(map[string]any)
	if !ok {
		below = map[string]any{}
		patch[path[0]] = below
	}
	overwrite(below, inside, path[1:])
}
