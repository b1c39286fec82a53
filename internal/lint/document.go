package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	node "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// object is one of a file, and knows on which lines its fields are.
type object struct {
	file string
	// source is the template that Helm rendered the object from, empty if nothing says so.
	source string
	// root is the object in the text, its lines counted from offset.
	root   *node.Node
	offset int

	apiVersion, kind, name, namespace string
	// fields as the API machinery reads them.
	fields map[string]any
	// typed is the object as one of our types or one of Kubernetes', nil if it could not be read as such.
	typed any
	// broken are the rules of the schema that the object does not obey. They are reported last: a rule points at a whole list where the
	// controller names the item and its value.
	broken field.ErrorList
	// mistakes are the fields already reported.
	mistakes []string
	ignored  ignored
}

func (o *object) title() string { return strings.TrimSpace(o.kind + " " + o.name) }

// line is the line of a field, or, if the object does not have it, of the nearest one around it that it has.
func (o *object) line(field string) int {
	found := find(o.root, field)
	return max(1, found.Line+o.offset)
}

// vague are fields that are so large that a mistake in them says nothing about another one in them.
var vague = []string{"", "metadata", "spec", "spec.strategy", "spec.strategy.canary", "spec.strategy.blueGreen", "spec.template.spec"}

// told reports whether a mistake was reported that is probably the same: at this field, in it, or around it.
func (o *object) told(field string) bool {
	return slices.ContainsFunc(o.mistakes, func(told string) bool {
		inner, outer := field, told
		if len(inner) < len(outer) {
			inner, outer = outer, inner
		}
		if slices.Contains(vague, outer) {
			return inner == outer
		}
		rest, inside := strings.CutPrefix(inner, outer)
		return inside && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// group is the API group.
func (o *object) group() string {
	group, _, found := strings.Cut(o.apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// copy returns the object's fields for a caller that changes them.
func (o *object) copy() map[string]any { return clone(o.fields).(map[string]any) }

func clone(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for k, v := range value {
			out[k] = clone(v)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = clone(v)
		}
		return out
	}
	return value
}

// find follows a path such as spec.steps[2].setWeight as far as it goes. Keys may have dots in them: the longest that is there is taken.
func find(at *node.Node, path string) *node.Node {
	for at.Kind == node.AliasNode {
		at = at.Alias
	}
	path = strings.TrimPrefix(path, ".")
	if path == "" {
		return at
	}
	if rest, index, ok := cutIndex(path); ok && at.Kind == node.SequenceNode {
		if index >= len(at.Content) {
			return at
		}
		return find(at.Content[index], rest)
	}
	if at.Kind == node.ScalarNode && at.Style == node.LiteralStyle {
		return within(at, path)
	}
	if at.Kind != node.MappingNode {
		return at
	}
	var (
		best *node.Node
		key  *node.Node
		rest string
	)
	for i := 0; i+1 < len(at.Content); i += 2 {
		k := at.Content[i]
		after, ok := cutKey(path, k.Value)
		if ok && (key == nil || len(k.Value) > len(key.Value)) {
			key, best, rest = k, at.Content[i+1], after
		}
	}
	if key == nil {
		return at
	}
	if found := find(best, rest); rest != "" && found != best {
		return found
	}
	return key // its line is where the eye looks, also for a value that begins on the next one
}

// within follows a path in YAML that a block of text has, whose lines begin after the one with the bar.
func within(text *node.Node, path string) *node.Node {
	var inner node.Node
	if err := node.Unmarshal([]byte(text.Value), &inner); err != nil || len(inner.Content) == 0 {
		return text
	}
	found := *find(inner.Content[0], path)
	found.Line += text.Line
	return &found
}

// cutKey takes a key off a path: as it is, or in brackets.
func cutKey(path, key string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(path, "["+key+"]"); ok {
		return rest, true
	}
	rest, ok = strings.CutPrefix(path, key)
	return rest, ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func cutIndex(path string) (rest string, index int, ok bool) {
	if path[0] != '[' {
		return path, 0, false
	}
	number, rest, found := strings.Cut(path[1:], "]")
	index, err := strconv.Atoi(number)
	return rest, index, found && err == nil && index >= 0
}

// document is one of those that a file consists of.
type document struct {
	text []byte
	// offset is the number of lines before it.
	offset int
	// source is what Helm says that it rendered the document from.
	source string
}

func documents(text []byte) []document {
	var all []document
	current := document{}
	line := 0
	for part := range bytes.Lines(text) {
		line++
		if isSeparator(part) {
			all = append(all, current)
			current = document{offset: line}
			continue
		}
		if source, ok := bytes.CutPrefix(part, []byte("# Source: ")); ok && current.source == "" {
			current.source = string(bytes.TrimSpace(source))
		}
		current.text = append(current.text, part...)
	}
	return append(all, current)
}

// isSeparator: three dashes, and nothing else that would belong to the document after them.
func isSeparator(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	rest = bytes.TrimSpace(rest)
	return ok && (len(rest) == 0 || rest[0] == '#')
}

// parse takes the objects of a file. A document that is not valid YAML does not hide the others.
func (l *linter) parse(file File) {
	text := bytes.TrimPrefix(file.Text, []byte("\ufeff"))
	for _, d := range documents(text) {
		l.parseDocument(file.Name, d)
	}
}

func (l *linter) parseDocument(file string, d document) {
	wrong := func(rule Rule, line int, format string, args ...any) {
		l.findings = append(l.findings, Finding{
			File: file, Line: max(1, line+d.offset), Source: d.source, Severity: rule.severity(), Rule: rule, Message: fmt.Sprintf(format, args...),
		})
	}
	var root node.Node
	if err := node.Unmarshal(d.text, &root); err != nil {
		line, text := lineOf(err)
		wrong(InvalidYAML, line, "invalid YAML: %s", text)
		return
	}
	if len(root.Content) == 0 { // nothing but comments
		return
	}
	top := root.Content[0]
	twice := repeatedKeys(top)
	for _, key := range twice { // the last one counts
		wrong(DuplicateKey, key.Line, "key %q is there twice: remove one of them", key.Value)
	}
	var fields any
	if err := yaml.Unmarshal(d.text, &fields, useNumber); err != nil {
		line, text := lineOf(err)
		wrong(InvalidYAML, line, "invalid YAML: %s", text)
		return
	}
	o, ok := normal(fields).(map[string]any)
	if !ok {
		if fields != nil {
			wrong(NotAnObject, top.Line, "not a Kubernetes object: write apiVersion, kind and the rest as keys and values")
		}
		return
	}
	l.addObject(&object{file: file, source: d.source, root: top, offset: d.offset, fields: o})
}

// addObject adds an object, or the objects of a list.
func (l *linter) addObject(o *object) {
	text := func(fields map[string]any, key string) string {
		s, _ := fields[key].(string)
		return s
	}
	o.apiVersion, o.kind = text(o.fields, "apiVersion"), text(o.fields, "kind")
	metadata, _ := o.fields["metadata"].(map[string]any)
	o.name, o.namespace = text(metadata, "name"), text(metadata, "namespace")
	if items, ok := o.fields["items"].([]any); ok && strings.HasSuffix(o.kind, "List") {
		for i, item := range items {
			fields, ok := item.(map[string]any)
			at := find(o.root, fmt.Sprintf("items[%d]", i))
			if !ok {
				l.report(NotAnObject, o, fmt.Sprintf("items[%d]", i), "not a Kubernetes object: write apiVersion, kind and the rest as keys and values")
				continue
			}
			l.addObject(&object{file: o.file, source: o.source, root: at, offset: o.offset, fields: fields})
		}
		return
	}
	l.readIgnored(o)
	for _, missing := range []struct{ field, value string }{{"apiVersion", o.apiVersion}, {"kind", o.kind}} {
		if missing.value == "" {
			l.report(MissingField, o, missing.field, "is missing: set it")
		}
	}
	l.objects = append(l.objects, o)
}

// repeatedKeys are keys that are in a mapping already.
func repeatedKeys(at *node.Node) []*node.Node {
	var twice []*node.Node
	seen := map[string]bool{}
	for i, child := range at.Content {
		if at.Kind == node.MappingNode && i%2 == 0 {
			if child.Value != "<<" && seen[child.Value] {
				twice = append(twice, child)
			}
			seen[child.Value] = true
			continue
		}
		twice = append(twice, repeatedKeys(child)...)
	}
	return twice
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// lineOf takes the line out of an error of the YAML libraries, and the words that are about them.
func lineOf(err error) (line int, text string) {
	text = err.Error()
	if m := yamlLine.FindStringSubmatchIndex(text); m != nil {
		line, _ = strconv.Atoi(text[m[2]:m[3]])
		text = text[m[1]:]
	}
	text = strings.TrimPrefix(strings.TrimPrefix(text, "error converting YAML to JSON: "), "yaml: ")
	return line, strings.TrimSpace(text)
}

// useNumber keeps whole numbers whole.
func useNumber(d *json.Decoder) *json.Decoder {
	d.UseNumber()
	return d
}

// normal gives numbers the types that the API server's decoder does.
func normal(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			value[k] = normal(v)
		}
	case []any:
		for i, v := range value {
			value[i] = normal(v)
		}
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return n
		}
		n, _ := value.Float64()
		return n
	}
	return value
}
