package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/internal/spelling"
)

// checkShape compares an object with its type: fields that there are not, and values that are of the wrong sort, pod templates
// included, in which the schema leaves everything to the reader. It returns what is left without these, so that the rest can be
// looked at all the same.
func (l *linter) checkShape(o *object, typed any) map[string]any {
	left, _ := l.shape(o, "", o.fields, reflect.TypeOf(typed))
	fields, _ := left.(map[string]any)
	return fields
}

var (
	readsItself  = reflect.TypeFor[json.Unmarshaler]()
	numberOrText = reflect.TypeFor[intstr.IntOrString]()
)

// shape returns the value without what does not fit the type, and false if nothing is left of it.
func (l *linter) shape(o *object, path string, value any, t reflect.Type) (any, bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n, ok := value.(float64); ok && t == numberOrText {
		l.mistake(WrongType, o, path, "%v must be a whole number, or a text in quotes", n)
		return nil, false
	}
	if value == nil || path != "" && reflect.PointerTo(t).Implements(readsItself) { // quantities, times, and what has a form of its own
		return value, true
	}
	want, fits := sorts(t.Kind(), value)
	if want == "" {
		return value, true
	}
	if !fits {
		l.mistake(WrongType, o, path, "%s", misfit(value, want))
		return nil, false
	}
	if n, whole := value.(int64); whole && t.Kind() == reflect.Int32 && int64(int32(n)) != n {
		l.mistake(WrongType, o, path, "%d is out of range: write a number from %d to %d", n, math.MinInt32, math.MaxInt32)
		return nil, false
	}
	switch t.Kind() {
	case reflect.Struct:
		return l.shapeStruct(o, path, value.(map[string]any), t), true
	case reflect.Map:
		left := map[string]any{}
		for _, key := range sortedKeys(value.(map[string]any)) {
			if v, ok := l.shape(o, path+"."+key, value.(map[string]any)[key], t.Elem()); ok {
				left[key] = v
			}
		}
		return left, true
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 { // bytes are text
			return value, true
		}
		var left []any
		for i, item := range value.([]any) {
			v, ok := l.shape(o, fmt.Sprintf("%s[%d]", path, i), item, t.Elem())
			if !ok {
				v = nil // the others keep their places
			}
			left = append(left, v)
		}
		return left, true
	default:
		return value, true
	}
}

func (l *linter) shapeStruct(o *object, path string, fields map[string]any, t reflect.Type) map[string]any {
	known, left := jsonFields(t), map[string]any{}
	for _, key := range sortedKeys(fields) {
		at := strings.TrimPrefix(path+"."+key, ".")
		below, found := known[key]
		if !found {
			l.mistake(UnknownField, o, at, "there is no field %q%s", key, meant(key, sortedKeys(known), "remove it"))
			continue
		}
		if v, ok := l.shape(o, at, fields[key], below); ok {
			left[key] = v
		}
	}
	return left
}

// sorts is the sort of value that a kind of type takes, in words, and whether this one is of it. Empty: any.
func sorts(k reflect.Kind, value any) (want string, fits bool) {
	switch k {
	case reflect.Struct, reflect.Map:
		_, fits = value.(map[string]any)
		return "a mapping with keys", fits
	case reflect.Slice:
		_, list := value.([]any)
		_, text := value.(string)
		return "a list", list || text
	case reflect.String:
		_, fits = value.(string)
		return "a text", fits
	case reflect.Bool:
		_, fits = value.(bool)
		return "true or false", fits
	case reflect.Int, reflect.Int32, reflect.Int64:
		_, fits = value.(int64)
		return "a whole number", fits
	default:
		return "", true
	}
}

// misfit says what is wrong with a value of the wrong sort.
func misfit(value any, want string) string {
	switch v := value.(type) {
	case map[string]any:
		return "there must be " + want + ", and there is a mapping"
	case []any:
		return "there must be " + want + ", and there is a list: take the \"- \" away, or move this elsewhere"
	case string:
		if want == "a list" {
			return fmt.Sprintf("%q must be a list: begin it with \"- \"", v)
		}
		return fmt.Sprintf("%q must be %s%s", v, want, unquoted(v, want))
	}
	if want == "a text" {
		return fmt.Sprintf("%v must be a text: write \"%v\", with quotes", value, value)
	}
	return fmt.Sprintf("%v must be %s", value, want)
}

// unquoted is what to write in place of a text, if that can be told.
func unquoted(text, want string) string {
	if want == "true or false" {
		if v, err := strconv.ParseBool(text); err == nil {
			return fmt.Sprintf(": write %t, without quotes", v)
		}
		return ""
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return fmt.Sprintf(": write %s, without quotes", text)
	}
	if d, err := time.ParseDuration(text); err == nil {
		return fmt.Sprintf(" of seconds: write %d", int64(math.Ceil(d.Seconds())))
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// meant asks for the candidate that is spelled nearly like a word, or says what to do if there is none.
func meant(word string, candidates []string, otherwise string) string {
	if near := spelling.Nearest(word, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ": " + otherwise
}

// jsonFields are the fields of a struct by their names in JSON, those of embedded structs included.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
			below := f.Type
			for below.Kind() == reflect.Pointer {
				below = below.Elem()
			}
			maps.Copy(fields, jsonFields(below))
		case name == "":
			fields[f.Name] = f.Type
		default:
			fields[name] = f.Type
		}
	}
	return fields
}
