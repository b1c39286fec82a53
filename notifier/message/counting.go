package message

import (
	"fmt"
	"reflect"
	"strings"
	"text/template"
	"text/template/parse"
)

const (
	// roundName is called in each round of a loop and each use of a named template, shownName with all that is written.
	roundName = "sluiceRound"
	shownName = "sluiceShown"
)

// counting rewrites all templates in a message's blocks, so that they count what they do. v is a pointer to the message.
func counting(v reflect.Value, functions template.FuncMap) error {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return counting(v.Elem(), functions)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue // the library's own
			}
			if err := counting(v.Field(i), functions); err != nil {
				return fmt.Errorf("%s: %w", jsonName(v.Type().Field(i)), err)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := counting(v.Index(i), functions); err != nil {
				return err
			}
		}
	case reflect.Map:
		return countingMap(v, functions)
	case reflect.String:
		text, err := rewrite(v.String(), functions)
		if err != nil {
			return err
		}
		v.SetString(text)
	default:
	}
	return nil
}

// countingMap rewrites a map's keys, which may be templates, and its values.
func countingMap(v reflect.Value, functions template.FuncMap) error {
	entries := reflect.MakeMap(v.Type())
	for e := v.MapRange(); e.Next(); {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		key.Set(e.Key())
		value.Set(e.Value())
		for _, part := range []reflect.Value{key, value} {
			if err := counting(part, functions); err != nil {
				return fmt.Errorf("%v: %w", e.Key(), err)
			}
		}
		entries.SetMapIndex(key, value)
	}
	if v.CanSet() && v.Len() > 0 {
		v.Set(entries)
	}
	return nil
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// rewrite returns a template that gives the same text, and counts.
func rewrite(text string, functions template.FuncMap) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	builtins := map[string]any{
		"and": true, "or": true, "not": true, "len": true, "index": true, "slice": true, "call": true,
		"eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true,
	}
	trees, err := parse.Parse(rootName, text, "", "", functions, builtins)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for name, tree := range trees {
		if name == rootName || tree.Root == nil {
			continue
		}
		count(tree.Root)
		entered(tree.Root)
		fmt.Fprintf(&b, "{{define %q}}%s{{end}}", name, tree.Root)
	}
	if root := trees[rootName]; root != nil && root.Root != nil {
		count(root.Root)
		b.WriteString(root.Root.String())
	}
	return b.String(), nil
}

const rootName = "message"

func count(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			if len(n.Pipe.Decl) == 0 {
				n.Pipe.Cmds = append(n.Pipe.Cmds, calling(shownName).Pipe.Cmds...)
			}
		case *parse.RangeNode:
			count(n.List)
			entered(n.List)
			count(n.ElseList)
		case *parse.IfNode:
			count(n.List)
			count(n.ElseList)
		case *parse.WithNode:
			count(n.List)
			count(n.ElseList)
		}
	}
}

// entered has a list of nodes count itself each time.
func entered(list *parse.ListNode) {
	length := len(list.String())
	list.Nodes = append([]parse.Node{calling(fmt.Sprintf("%s %d", roundName, length))}, list.Nodes...)
}

func calling(text string) *parse.ActionNode {
	known := map[string]any{roundName: true, shownName: true}
	trees, err := parse.Parse(rootName, "{{"+text+"}}", "", "", known)
	if err != nil {
		panic(err) // it is written above
	}
	return trees[rootName].Root.Nodes[0].(*parse.ActionNode)
}
