package crd

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Check returns everything that is wrong with a new object: where it does not have the schema's shape, and which rules it breaks. The API
// server, and so [Kind.Admit], asks no rule of an object without that shape; Check asks them of what is left without the fields that are
// wrong. A value that is not one of those allowed stays: rules that ask only whether the field is set would be wrong without it. Like Admit, Check
// drops unknown fields and fills defaults in.
func (k Kind) Check(ctx context.Context, object map[string]any) (shape, rules field.ErrorList) {
	shape = k.shape(object)
	if len(shape) == 0 {
		return nil, k.obey(ctx, object, nil)
	}
	rest := runtime.DeepCopyJSON(object)
	for _, e := range shape {
		if e.Type != field.ErrorTypeNotSupported {
			remove(rest, path(e.Field))
		}
	}
	if slices.ContainsFunc(k.shape(rest), func(e *field.Error) bool {
		return e.Type != field.ErrorTypeRequired && e.Type != field.ErrorTypeNotSupported
	}) {
		return shape, nil // there is no relying on any of it
	}
	rules = slices.DeleteFunc(k.obey(ctx, rest, nil), func(e *field.Error) bool { return strings.Contains(e.Detail, noSuchKey) })
	return shape, rules
}

// noSuchKey is what CEL says where a rule relies on a required field that is missing, which has an error of its own.
const noSuchKey = "no such key"

// place moves the path of a field from an error's text to where it belongs: numbers that are not of their type have it only there.
func place(e *field.Error) {
	if e.Field != "" && e.Field != "<nil>" {
		return
	}
	if i := strings.LastIndex(e.Detail, " in "); i >= 0 {
		e.Field, e.Detail = e.Detail[i+len(" in "):], e.Detail[:i]
		return
	}
	// A value that is of none of the types that a field may have is quoted by its path.
	if quoted, err := strconv.QuotedPrefix(e.Detail); err == nil {
		e.Field, e.Detail = strings.Trim(quoted, `"`), strings.TrimSpace(e.Detail[len(quoted):])
	}
}

// path cuts "spec.steps[2].setWeight" into its keys and indexes.
func path(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".[]", r) })
}

// remove deletes what a path leads to. An item of a list goes with the list, so that the others keep no wrong places.
func remove(from map[string]any, keys []string) {
	var holder map[string]any
	var name string
	var at any = from
	for _, key := range keys {
		switch container := at.(type) {
		case map[string]any:
			holder, name, at = container, key, container[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(container) {
				return
			}
			at = container[i]
		default:
			return
		}
	}
	delete(holder, name)
}
