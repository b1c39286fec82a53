package v1alpha1

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

const (
	// mostUnreadable is how many fields of spec, and how many of status, are reported. Their messages end up in conditions.
	mostUnreadable = 10
	// longestValue is how much of a value or of a key is told, in characters.
	longestValue = 60
)

// whatFits returns a stored object, as JSON, without the fields that do not fit a type, and these fields. Numbers in the
// object must be json.Numbers.
func whatFits[T any](stored any) ([]byte, Unreadable, error) {
	if _, ok := stored.(map[string]any); !ok {
		return nil, nil, fmt.Errorf("%s is no object", shown(stored))
	}
	var f fitter
	fits, _ := f.fit(nil, stored, reflect.TypeFor[T]())
	text, err := json.Marshal(fits)
	return text, f.unreadable, err
}

// fitter compares a value with a type.
type fitter struct {
	unreadable Unreadable
	// damage counts the values that did not fit, except those that were dropped with an item of a list.
	damage int
}

// place is where a value is in an object; nil for the object itself. It is rendered as text only if something is wrong.
type place struct {
	parent *place
	field  string
	index  int // of an item, where field is empty
}

func (p *place) String() string {
	switch {
	case p == nil:
		return ""
	case p.field == "":
		return p.parent.String() + "[" + strconv.Itoa(p.index) + "]"
	case p.parent == nil:
		return p.field
	}
	return p.parent.String() + "." + shortened(p.field)
}

// top is the field of the object itself that a place is in.
func (p *place) top() string {
	for p.parent != nil {
		p = p.parent
	}
	return p.field
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// fit returns the value without what does not fit the type, and false if nothing is left.
func (f *fitter) fit(at *place, value any, t reflect.Type) (any, bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value == nil {
		return nil, true
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return f.leaf(at, value, t)
	}
	switch v := value.(type) {
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			return f.fitStruct(at, v, t), true
		case reflect.Map:
			return f.fitMap(at, v, t), true
		default:
		}
	case []any:
		if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 { // bytes are text
			return f.fitList(at, v, t), true
		}
	case string:
		if t.Kind() == reflect.String {
			return v, true
		}
	}
	return f.leaf(at, value, t)
}

// leaf handles a value that its type decodes as a whole.
func (f *fitter) leaf(at *place, value any, t reflect.Type) (any, bool) {
	text, err := json.Marshal(value)
	if err == nil {
		err = utiljson.Unmarshal(text, reflect.New(t).Interface())
	}
	if err != nil {
		f.report(at, shown(value)+" "+expected(t, value, err))
		return nil, false
	}
	return value, true
}

func (f *fitter) fitStruct(at *place, fields map[string]any, t reflect.Type) map[string]any {
	known, fitting := jsonFields(t), make(map[string]any, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		below, ok := known[name]
		if !ok {
			continue // a decoder passes it over
		}
		if v, ok := f.fit(&place{parent: at, field: name}, fields[name], below); ok {
			fitting[name] = v
		}
	}
	return fitting
}

func (f *fitter) fitMap(at *place, entries map[string]any, t reflect.Type) map[string]any {
	fitting := make(map[string]any, len(entries))
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if v, ok := f.fit(&place{parent: at, field: key}, entries[key], t.Elem()); ok {
			fitting[key] = v
		}
	}
	return fitting
}

// fitList keeps the positions of items in a spec: one that does not fit becomes empty. In a status, which is written back as
// it was read, such an item is dropped, because it would lack fields that the API server requires.
func (f *fitter) fitList(at *place, items []any, t reflect.Type) []any {
	fitting := make([]any, 0, len(items))
	for i, item := range items {
		before := f.damage
		v, _ := f.fit(&place{parent: at, index: i}, item, t.Elem())
		if f.damage > before && at.top() == "status" {
			f.damage = before
			continue
		}
		fitting = append(fitting, v)
	}
	return fitting
}

func (f *fitter) report(at *place, text string) {
	f.damage++
	if len(f.unreadable.Of(at.top())) < mostUnreadable {
		f.unreadable = append(f.unreadable, UnreadableField{Path: at.String(), Text: text})
	}
}

// expected says what is wrong with a value that must be of a type, and what to write.
func expected(t reflect.Type, value any, err error) string {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return "is not a quantity: write a number with or without a suffix, such as 500m, 2 or 1Gi"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return "is not a time: write one such as 2026-01-31T12:00:00Z"
	case reflect.TypeFor[intstr.IntOrString]():
		return fmt.Sprintf("is neither a text nor a whole number up to %d: write one of these, such as 2 or \"25%%\"", math.MaxInt32)
	}
	_, isText := value.(string)
	switch t.Kind() {
	case reflect.String:
		return "is not text: put it in quotes"
	case reflect.Bool:
		return "is neither true nor false: write one of these, without quotes"
	case reflect.Int32:
		return fmt.Sprintf("is not a whole number between %d and %d: write one, without quotes", math.MinInt32, math.MaxInt32)
	case reflect.Int, reflect.Int64:
		return "is not a whole number: write one, without quotes"
	case reflect.Struct, reflect.Map:
		return "is not an object: write a mapping of fields to values"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && isText {
			return "is not base64: encode the bytes"
		}
		return "is not a list: begin each item with \"- \""
	default:
		return "cannot be read: " + err.Error()
	}
}

// shown formats a value for a message.
func shown(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("%q", shortened(v))
	}
	return shortened(fmt.Sprint(value))
}

func shortened(text string) string {
	if len(text) <= longestValue {
		return text
	}
	if runes := []rune(text); len(runes) > longestValue {
		return string(runes[:longestValue]) + "…"
	}
	return text
}

// fieldsOf caches the result of jsonFields by type.
var fieldsOf sync.Map

// jsonFields returns the types of a struct's fields by their JSON names, including those of embedded structs.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	if found, ok := fieldsOf.Load(t); ok {
		return found.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
		case name == "" && field.Anonymous:
			maps.Copy(fields, jsonFields(field.Type))
		case name != "":
			fields[name] = field.Type
		}
	}
	fieldsOf.Store(t, fields)
	return fields
}
