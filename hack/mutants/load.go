package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Package is one whose mutants are made.
type Package struct {
	Path, Dir string
	files     []*File

	fset    *token.FileSet
	info    *types.Info
	imports types.Importer
}

// File is one of its files. Tests and generated files have no mutants.
type File struct {
	// path is where it is, name how a report calls it: from the module's folder.
	path, name string
	source     []byte
	syntax     *ast.File
	tokens     *token.File
}

func (f *File) offset(p token.Pos) int { return f.tokens.Offset(p) }

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export, ForTest string
	GoFiles, TestGoFiles             []string
	XTestGoFiles, Deps               []string
}

// list asks go list.
func list(dir string, args ...string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Export,ForTest,GoFiles,TestGoFiles,XTestGoFiles,Deps"}, args...)...)
	var complaint bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w\n%s", strings.Join(args, " "), err, complaint.String())
	}
	var all []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var one listed
		switch err := decoder.Decode(&one); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, one)
	}
}

// load reads the packages that the patterns name, with their types.
func load(dir string, patterns []string) ([]*Package, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	named, err := list(root, patterns...)
	if err != nil {
		return nil, err
	}
	all, err := list(root, append([]string{"-export", "-deps"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var packages []*Package
	for _, one := range named {
		p := &Package{Path: one.ImportPath, Dir: one.Dir, fset: fset, imports: imports}
		if err := p.read(root, one.GoFiles); err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("no package matches %s", strings.Join(patterns, " "))
	}
	return packages, nil
}

func (p *Package) read(root string, names []string) error {
	for _, name := range names {
		f := &File{path: filepath.Join(p.Dir, name)}
		var err error
		if f.name, err = filepath.Rel(root, f.path); err != nil {
			return err
		}
		if f.source, err = os.ReadFile(f.path); err != nil {
			return err
		}
		if f.syntax, err = parser.ParseFile(p.fset, f.path, f.source, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return err
		}
		f.tokens = p.fset.File(f.syntax.FileStart)
		p.files = append(p.files, f)
	}
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	return p.check(nil, p.info)
}

// check checks the types of the package, with the mutant in it if there is one.
func (p *Package) check(m *Mutant, info *types.Info) error {
	var files []*ast.File
	for _, f := range p.files {
		syntax := f.syntax
		if m != nil && m.File == f {
			var err error
			if syntax, err = parser.ParseFile(p.fset, f.path, m.Source(), parser.SkipObjectResolution); err != nil {
				return err
			}
		}
		files = append(files, syntax)
	}
	config := types.Config{Importer: p.imports}
	_, err := config.Check(p.Path, p.fset, files, info)
	return err
}

// mutants are all of the package's, those included that do not compile.
func (p *Package) mutants() []*Mutant {
	var all []*Mutant
	for _, f := range p.files {
		if !ast.IsGenerated(f.syntax) {
			all = append(all, f.mutants(p)...)
		}
	}
	return all
}

// compiles reports whether the mutant does, and is another program than the one before.
func (m *Mutant) compiles() bool {
	return !bytes.Equal(m.Source(), m.File.source) && m.Package.check(m, nil) == nil
}

// tests are the packages that the patterns name and that have tests, with the packages that these reach.
func tests(dir string, patterns []string) ([]tested, error) {
	named, err := list(dir, patterns...)
	if err != nil {
		return nil, err
	}
	programs, err := list(dir, append([]string{"-test"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var all []tested
	for _, one := range named {
		if len(one.TestGoFiles)+len(one.XTestGoFiles) == 0 {
			continue
		}
		i := slices.IndexFunc(programs, func(p listed) bool { return p.ImportPath == one.ImportPath+".test" })
		if i < 0 {
			return nil, fmt.Errorf("go list -test has no program for the tests of %s", one.ImportPath)
		}
		t := tested{path: one.ImportPath, dir: one.Dir, reaches: map[string]bool{}}
		for _, dep := range programs[i].Deps {
			path, _, _ := strings.Cut(dep, " ") // "a [b.test]" is a, compiled for b's tests
			t.reaches[path] = true
		}
		all = append(all, t)
	}
	return all, nil
}

// tested is a package with tests.
type tested struct {
	path, dir string
	reaches   map[string]bool
}
