package main

import (
	"bufio"
	"context"
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A test that never executes the place of a mutant cannot notice it. So each program first runs once with Go's coverage, and a mutant is tried only with
// programs that execute its block.

// position is a place in a file, as coverage profiles count.
type position struct{ line, column int }

func (p position) before(q position) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}

// block is a sequence of statements without a branch.
type block struct {
	from, to position
	executed bool
}

func (b block) holds(p position) bool { return !p.before(b.from) && p.before(b.to) }

// coverage is what a program executes: the blocks of each file, named by its import path.
type coverage map[string][]block

// executes reports whether the place of a mutant is executed. What is in no block, such as the conditions of a switch, is executed if anything in its
// function is; and what is in no function may be.
func (c coverage) executes(m *Mutant) bool {
	var found []block
	at, blocks := m.File.position(m.from), c[path.Join(m.Package.Path, filepath.Base(m.File.path))]
	for _, b := range blocks {
		if b.holds(at) {
			found = append(found, b)
		}
	}
	if len(found) == 0 {
		f := m.enclosing()
		if f == nil {
			return true
		}
		whole := block{from: m.File.position(m.File.offset(f.Pos())), to: m.File.position(m.File.offset(f.End()))}
		for _, b := range blocks {
			if whole.holds(b.from) {
				found = append(found, b)
			}
		}
	}
	return slices.ContainsFunc(found, func(b block) bool { return b.executed })
}

// enclosing is the function whose body a mutant changes, nil if there is none.
func (m *Mutant) enclosing() *ast.FuncDecl {
	for _, decl := range m.File.syntax.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if ok && f.Body != nil && m.File.offset(f.Body.Lbrace) < m.from && m.to <= m.File.offset(f.Body.Rbrace) {
			return f
		}
	}
	return nil
}

func (f *File) position(offset int) position {
	p := f.tokens.Position(f.tokens.Pos(offset))
	return position{p.Line, p.Column}
}

// cover runs the program once without a mutant, and notes what it executes of the packages.
func (p *program) cover(ctx context.Context, r *runner, packages []string) error {
	binary := filepath.Join(r.scratch, strings.ReplaceAll(p.path, "/", "_")+".cover")
	profile := binary + ".out"
	if !slices.Contains(r.covering, p.path) { // another stage's are the same
		if err := r.compile(ctx, p.path, binary, "-covermode=set", "-coverpkg="+strings.Join(packages, ",")); err != nil {
			return err
		}
		r.covering = append(r.covering, p.path)
	}
	result := p.run(ctx, binary, 0, time.Hour, "-test.coverprofile="+profile)
	if result.failed {
		return fmt.Errorf("the tests of %s fail without any mutant:\n%s", p.path, result.output)
	}
	var err error
	p.covers, err = readCoverage(profile)
	return err
}

func readCoverage(name string) (coverage, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	c := coverage{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		where, rest, ok := strings.Cut(lines.Text(), ".go:")
		if !ok {
			continue // the mode
		}
		var b block
		var statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.from.line, &b.from.column, &b.to.line, &b.to.column, &statements, &count); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", name, lines.Text(), err)
		}
		b.executed = count > 0
		c[where+".go"] = append(c[where+".go"], b)
	}
	return c, nil
}
