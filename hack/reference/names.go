package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// files of the API package with names that users meet, in the order of the page.
var files = []string{"conditions.go", "events.go", "experiment_types.go", "analysisrun_types.go", "names.go"}

// namesPage lists constants of the API package that code uses.
func namesPage(api, code string) (string, error) {
	used, err := usedIn(code)
	if err != nil {
		return "", err
	}
	values := map[string]string{} // by the constant's name
	var groups []group
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(api, file), nil, parser.ParseComments)
		if err != nil {
			return "", err
		}
		groups = append(groups, groupsOf(parsed, values)...)
	}
	byValue := func(text string) string {
		return regexp.MustCompile(`\w+(?:Annotation|Label)\b`).ReplaceAllStringFunc(text, func(name string) string {
			return cmp.Or(values[name], name)
		})
	}
	page := "# Names\n\nThe names that Sluice writes into objects, as other programs read them. Generated from `" + api + "`.\n"
	for _, g := range groups {
		var rows strings.Builder
		for _, c := range g.constants {
			if !used[c.name] && !used[c.alias] {
				continue
			}
			value := c.value
			if c.alias != "" {
				value = values[c.alias]
			}
			if value == "" {
				return "", fmt.Errorf("the value of %s is not known", c.name)
			}
			fmt.Fprintf(&rows, "| `%s` | %s |\n", value, cell(byValue(c.about)))
		}
		if rows.Len() > 0 {
			page += fmt.Sprintf("\n## %s\n\n| name | |\n|---|---|\n%s", byValue(g.title), rows.String())
		}
	}
	return page, nil
}

// usedIn finds which names of the API package the code of a folder uses, tests left out.
func usedIn(folder string) (map[string]bool, error) {
	name, used := regexp.MustCompile(`v1alpha1\.(\w+)`), map[string]bool{}
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range name.FindAllStringSubmatch(string(text), -1) {
			used[found[1]] = true
		}
		return err
	})
	return used, err
}

// group is a declaration of constants.
type group struct {
	title     string
	constants []constant
}

// constant is a name that others read. With an alias it has the value of that constant.
type constant struct{ name, value, alias, about string }

func groupsOf(file *ast.File, values map[string]string) (all []group) {
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimSpace(decl.Doc.Text()), ".")
		g := group{title: strings.Join(strings.Fields(first), " ")}
		for _, s := range decl.Specs {
			spec := s.(*ast.ValueSpec) // nothing else is in a declaration of constants
			if len(spec.Values) != 1 {
				continue
			}
			c := constant{name: spec.Names[0].Name, about: spec.Doc.Text()}
			if !decl.Lparen.IsValid() { // a constant by itself
				c.about, g.title = decl.Doc.Text(), c.name
			}
			switch value := spec.Values[0].(type) {
			case *ast.BasicLit:
				if value.Kind != token.STRING {
					continue // a limit or a default, which is no name
				}
				c.value, _ = strconv.Unquote(value.Value) // the parser has read it
				values[c.name] = c.value
			case *ast.Ident:
				c.alias = value.Name
			}
			c.about = withoutName(c.about, c.name)
			g.constants = append(g.constants, c)
		}
		if n := len(all); n > 0 && !decl.Lparen.IsValid() && len(all[n-1].constants) > 0 {
			g.title = "Other names"
			if strings.Contains(all[n-1].title, "onditions") {
				g.title = "Other conditions and reasons"
			}
			if all[n-1].title == g.title {
				all[n-1].constants = append(all[n-1].constants, g.constants...)
				continue
			}
		}
		all = append(all, g)
	}
	return all
}

// withoutName takes the constant's own name off the beginning of its comment.
func withoutName(about, name string) string {
	about = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(strings.TrimPrefix(about, name)), ":,"))
	if about == "" {
		return ""
	}
	return strings.ToUpper(about[:1]) + about[1:]
}
