// Command rooms holds the engines to their measure: how many methods a type may have, that none embeds another's context, and how much code
// there is. make verify runs it; which room may import which is for the linter (.golangci.yml).
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	methods := flag.Int("methods", 45, "the most methods of one type")
	lines := flag.Int("lines", 11_474, "the most lines of all engines together, comments included and tests left out; 7,800 is where they should come to")
	verbose := flag.Bool("v", false, "show the types with the most methods")
	flag.Parse()
	if err := run(flag.Args(), *methods, *lines, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
}

func run(folders []string, methods, lines int, verbose bool) error {
	var all survey
	for _, folder := range folders {
		if err := all.read(folder); err != nil {
			return err
		}
	}
	types := all.types()
	if verbose {
		for _, t := range types[:min(10, len(types))] {
			fmt.Printf("%3d methods  %s\n", len(t.methods), t.name)
		}
		fmt.Printf("%d lines in %s\n", all.lines, strings.Join(folders, ", "))
	}
	problems := problemsOf(types, methods)
	if all.lines > lines {
		problems = append(problems, fmt.Sprintf("the engines have %d lines, and %d is the most: take something out before more comes in", all.lines, lines))
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s", strings.Join(problems, "\nrooms: "))
	}
	return nil
}

// named is a type of the engines.
type named struct {
	name string // folder.Type
	// methods are its methods; those of an embedded type are not counted.
	methods []string
	// context: its methods have pointer receivers, so that what embeds it takes over a state that changes.
	context bool
	// embeds are the types that it embeds, as folder.Type.
	embeds []string
}

type survey struct {
	byName map[string]*named
	lines  int
}

func (s *survey) of(name string) *named {
	if s.byName == nil {
		s.byName = map[string]*named{}
	}
	if s.byName[name] == nil {
		s.byName[name] = &named{name: name}
	}
	return s.byName[name]
}

// read takes in the Go files of a folder and of those in it, tests left out.
func (s *survey) read(folder string) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return s.add(path, text)
	})
}

func (s *survey) add(path string, text []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	s.lines += strings.Count(string(text), "\n")
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				continue
			}
			receiver := d.Recv.List[0].Type
			t := s.of(nameOf(file, receiver))
			t.methods = append(t.methods, d.Name.Name)
			if _, pointer := receiver.(*ast.StarExpr); pointer {
				t.context = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				s.addType(file, spec)
			}
		}
	}
	return nil
}

func (s *survey) addType(file *ast.File, of ast.Spec) {
	spec, ok := of.(*ast.TypeSpec)
	if !ok {
		return
	}
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	t := s.of(file.Name.Name + "." + spec.Name.Name)
	for _, f := range fields.Fields.List {
		if len(f.Names) == 0 {
			t.embeds = append(t.embeds, nameOf(file, f.Type))
		}
	}
}

// nameOf is a type as package.Type, whether it is a pointer to it or has type arguments.
func nameOf(file *ast.File, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return nameOf(file, e.X)
	case *ast.IndexExpr:
		return nameOf(file, e.X)
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok {
			return pkg.Name + "." + e.Sel.Name
		}
	case *ast.Ident:
		return file.Name.Name + "." + e.Name
	}
	return ""
}

// types are all types, those with the most methods first.
func (s *survey) types() []*named {
	var all []*named
	for _, t := range s.byName {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *named) int {
		return cmp.Or(cmp.Compare(len(b.methods), len(a.methods)), cmp.Compare(a.name, b.name))
	})
	return all
}

func problemsOf(types []*named, most int) []string {
	contexts := map[string]bool{}
	for _, t := range types {
		contexts[t.name] = t.context
	}
	var problems []string
	for _, t := range types {
		if len(t.methods) > most {
			problems = append(problems, fmt.Sprintf("%s has %d methods, and %d is the most: give a part of it a type of its own", t.name, len(t.methods), most))
		}
		for _, e := range t.embeds {
			if t.context && contexts[e] {
				problems = append(problems, fmt.Sprintf("%s embeds %s, so that nobody sees what is called: give the field a name", t.name, e))
			}
		}
	}
	return problems
}
