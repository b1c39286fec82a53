package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// Mutant is one change of one place.
type Mutant struct {
	Package *Package
	File    *File
	Line    int
	// Func is the function or the declaration that is changed, without its receiver or package: code moves.
	Func string
	Kind Kind
	// Before and After are the changed lines, each in one line.
	Before, After string

	from, to int
	text     string
	// number chooses the mutant in programs with many; 0 if it is built by itself.
	number int
}

// Kind is what a mutant does to the code.
type Kind string

// The kinds of mutants.
const (
	Negated   Kind = "negated"
	Swapped   Kind = "&& and || swapped"
	Boundary  Kind = "boundary moved"
	Operand   Kind = "operand ignored"
	Exit      Kind = "exit removed"
	Constant  Kind = "constant changed"
	Operator  Kind = "operator swapped"
	Statement Kind = "statement removed"
)

// mutants are all single changes of the file, in the order of the source.
func (f *File) mutants(p *Package) []*Mutant {
	m := &mutator{file: f, info: p.info, skip: map[ast.Node]bool{}}
	for _, decl := range f.syntax.Decls {
		m.within = nameOf(decl)
		ast.Inspect(decl, m.visit)
	}
	slices.SortStableFunc(m.found, func(a, b *Mutant) int { return a.from - b.from })
	for _, found := range m.found {
		found.Package = p
	}
	return m.found
}

// nameOf is the name of a function, or of the first thing that a declaration declares.
func nameOf(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Name.Name
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				return s.Names[0].Name
			case *ast.TypeSpec:
				return s.Name.Name
			}
		}
	}
	return ""
}

// mutator collects the mutants of one file.
type mutator struct {
	file   *File
	info   *types.Info
	within string
	// skip are nodes whose change would show nothing: sizes that are only hints, and the steps of loops, which would not end.
	skip  map[ast.Node]bool
	found []*Mutant
}

func (m *mutator) visit(n ast.Node) bool {
	if n == nil || m.skip[n] {
		return false
	}
	switch n := n.(type) {
	case *ast.IfStmt:
		m.condition(n.Cond)
		if n.Else == nil && leaves(n.Body) {
			m.never(n.Cond, Exit)
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			m.cases(n)
		}
	case *ast.ForStmt:
		m.skip[n.Post] = true
	case *ast.ArrayType:
		m.skip[n.Len] = true
	case *ast.ReturnStmt:
		for _, result := range n.Results {
			m.condition(result)
		}
	case *ast.BlockStmt:
		m.statements(n.List)
	case *ast.CaseClause:
		m.statements(n.Body)
	case *ast.CommClause:
		m.statements(n.Body)
	case ast.Expr:
		m.expression(n)
	case *ast.AssignStmt:
		m.operator(n.TokPos, n.Tok, n.Rhs[0])
	case *ast.IncDecStmt:
		m.operator(n.TokPos, n.Tok, n.X)
	}
	return true
}

func (m *mutator) expression(e ast.Expr) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		m.binary(e)
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			m.add(Negated, e.OpPos, e.X.Pos(), "")
		}
	case *ast.Ident:
		if opposite := map[string]string{"true": "false", "false": "true"}[e.Name]; opposite != "" && m.info.Uses[e] == types.Universe.Lookup(e.Name) {
			m.replace(Constant, e, opposite)
		}
	case *ast.BasicLit:
		if n, err := strconv.ParseInt(e.Value, 0, 64); err == nil && e.Kind == token.INT {
			m.replace(Constant, e, strconv.FormatInt(n+1, 10))
			m.replace(Constant, e, strings.Replace(strconv.FormatInt(n-1, 10), "-1", "(-1)", 1))
		}
	case *ast.CallExpr:
		m.call(e)
	}
}

// binary changes an operator, and takes operands of && and || out of the decision.
func (m *mutator) binary(e *ast.BinaryExpr) {
	switch e.Op {
	case token.LAND, token.LOR:
		other, fixed := "||", " || true)"
		if e.Op == token.LOR {
			other, fixed = "&&", " && false)"
		}
		m.add(Swapped, e.OpPos, e.OpPos+2, other)
		for _, operand := range []ast.Expr{e.X, e.Y} {
			m.condition(operand)
			if chain, ok := operand.(*ast.BinaryExpr); ok && chain.Op == e.Op {
				continue // its own operands come by themselves
			}
			m.replace(Operand, operand, "("+m.inParentheses(operand)+fixed)
		}
	default:
		m.operator(e.OpPos, e.Op, e.X)
	}
}

// opposites are what an operator becomes. Those that are not here stay.
var opposites = map[token.Token][]struct {
	text string
	kind Kind
}{
	token.EQL: {{"!=", Negated}}, token.NEQ: {{"==", Negated}},
	token.LSS: {{"<=", Boundary}, {">=", Negated}}, token.GEQ: {{">", Boundary}, {"<", Negated}},
	token.GTR: {{">=", Boundary}, {"<=", Negated}}, token.LEQ: {{"<", Boundary}, {">", Negated}},
	token.ADD: {{"-", Operator}}, token.SUB: {{"+", Operator}}, token.MUL: {{"/", Operator}}, token.QUO: {{"*", Operator}},
	token.ADD_ASSIGN: {{"-=", Operator}}, token.SUB_ASSIGN: {{"+=", Operator}}, token.INC: {{"--", Operator}}, token.DEC: {{"++", Operator}},
}

// operator changes the operator at a place, if it is one of numbers or a comparison.
func (m *mutator) operator(at token.Pos, op token.Token, operand ast.Expr) {
	for _, other := range opposites[op] {
		if other.kind == Operator && !m.is(operand, types.IsNumeric) {
			continue
		}
		m.add(other.kind, at, at+token.Pos(len(op.String())), other.text)
	}
}

// condition negates what is neither a comparison nor made of others: these are changed where they are.
func (m *mutator) condition(e ast.Expr) {
	e = ast.Unparen(e)
	if !m.is(e, types.IsBoolean) {
		return
	}
	switch e := e.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr:
	case *ast.Ident:
		if e.Name != "true" && e.Name != "false" {
			m.replace(Negated, e, "!"+e.Name)
		}
	default:
		m.replace(Negated, e, "!"+m.textOf(e))
	}
}

// never makes a condition false.
func (m *mutator) never(cond ast.Expr, kind Kind) {
	m.replace(kind, cond, "("+m.textOf(cond)+") && false")
}

func (m *mutator) cases(s *ast.SwitchStmt) {
	for _, clause := range s.Body.List {
		for _, cond := range clause.(*ast.CaseClause).List {
			m.condition(cond)
			m.never(cond, Operand)
		}
	}
}

// call exchanges min and max, and leaves sizes that make is given alone.
func (m *mutator) call(e *ast.CallExpr) {
	name, ok := ast.Unparen(e.Fun).(*ast.Ident)
	if !ok || m.info.Uses[name] != types.Universe.Lookup(name.Name) {
		return
	}
	switch name.Name {
	case "min":
		m.replace(Operator, name, "max")
	case "max":
		m.replace(Operator, name, "min")
	case "make":
		for _, arg := range e.Args {
			m.skip[arg] = true
		}
	}
}

// statements removes one statement after the other. What is the whole of an if is not removed: removing the exit does that.
func (m *mutator) statements(list []ast.Stmt) {
	for i, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt, *ast.IncDecStmt:
			m.replace(Statement, s, "")
		case *ast.AssignStmt:
			m.assignment(s)
		case *ast.BranchStmt, *ast.ReturnStmt:
			if i > 0 {
				m.replace(Exit, s, "")
			}
		}
	}
}

// assignment removes an assignment, and keeps the calls that make what is assigned.
func (m *mutator) assignment(s *ast.AssignStmt) {
	if s.Tok == token.DEFINE {
		return
	}
	called := slices.ContainsFunc(s.Rhs, func(e ast.Expr) bool {
		found := false
		ast.Inspect(e, func(n ast.Node) bool {
			_, ok := n.(*ast.CallExpr)
			found = found || ok
			return !found
		})
		return found
	})
	if !called {
		m.replace(Statement, s, "")
		return
	}
	blanks := strings.TrimSuffix(strings.Repeat("_, ", len(s.Lhs)), ", ")
	m.add(Statement, s.Pos(), s.Rhs[0].Pos(), blanks+" = ")
}

// leaves reports whether a block ends somewhere else.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

func (m *mutator) is(e ast.Expr, info types.BasicInfo) bool {
	t := m.info.TypeOf(e)
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&info != 0
}

// inParentheses is the text of an operand, which stays one whatever comes next to it.
func (m *mutator) inParentheses(e ast.Expr) string {
	if _, ok := e.(*ast.BinaryExpr); ok {
		return "(" + m.textOf(e) + ")"
	}
	return m.textOf(e)
}

func (m *mutator) textOf(n ast.Node) string {
	return string(m.file.source[m.file.offset(n.Pos()):m.file.offset(n.End())])
}

func (m *mutator) replace(kind Kind, n ast.Node, text string) { m.add(kind, n.Pos(), n.End(), text) }

func (m *mutator) add(kind Kind, from, to token.Pos, text string) {
	found := &Mutant{
		File: m.file, Func: m.within, Kind: kind, Line: m.file.tokens.Line(from),
		from: m.file.offset(from), to: m.file.offset(to), text: text,
	}
	found.Before, found.After = m.file.lines(found)
	m.found = append(m.found, found)
}

// lines are the lines that a mutant changes, before and after, each joined into one.
func (f *File) lines(m *Mutant) (before, after string) {
	from, to := m.from, m.to
	for from > 0 && f.source[from-1] != '\n' {
		from--
	}
	for to < len(f.source) && f.source[to] != '\n' {
		to++
	}
	oneLine := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	head, tail := string(f.source[from:m.from]), string(f.source[m.to:to])
	return oneLine(string(f.source[from:to])), oneLine(head + m.text + tail)
}

// Source is the file with the mutant in it.
func (m *Mutant) Source() []byte {
	return slices.Concat(m.File.source[:m.from], []byte(m.text), m.File.source[m.to:])
}

func (m *Mutant) String() string {
	after := m.After
	if after == "" {
		after = "(nothing)"
	}
	return fmt.Sprintf("%s:%d in %s: %s\n    - %s\n    + %s", m.File.name, m.Line, m.Func, m.Kind, m.Before, after)
}
