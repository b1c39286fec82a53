package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Building test programs takes far longer than most mutants live. So all mutants of function bodies are compiled into the programs at once: beside a
// function is a copy for each of its mutants, and the function begins by calling the copy that the environment chooses, if any. This is known as
// mutant schemata (Untch, Offutt, Harrold: "Mutation analysis using mutant schemata", ISSTA 1993). What is no part of a function body, and what the
// compiler does not take that way, is built by itself.

// chooses is the environment variable with the number of the mutant that runs; 0 is none.
const chooses = "SLUICE_MUTANT"

// chosen declares that number in each package that has mutants.
const chosen = `package %s

import (
	mutantos "os"
	mutantstrconv "strconv"
)

var chosenMutant, _ = mutantstrconv.Atoi(mutantos.Getenv(%q))
`

// span is where the copy of a mutant is in the text of its file.
type span struct {
	mutant   *Mutant
	file     string
	from, to int // lines
}

// function is the function whose body a mutant changes, nil if there is none that could call a copy of itself.
func (m *Mutant) function() *ast.FuncDecl {
	f := m.enclosing()
	if f != nil && f.Recv != nil && receiver(f) == "" && isGeneric(f.Recv.List[0].Type) {
		return nil // a copy would need the type's parameters, which have no values to come from
	}
	return f
}

// receiver is the name of a method's receiver, empty for none.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List[0].Names) == 0 || f.Recv.List[0].Names[0].Name == "_" {
		return ""
	}
	return f.Recv.List[0].Names[0].Name
}

func isGeneric(e ast.Expr) bool {
	if pointer, ok := e.(*ast.StarExpr); ok {
		e = pointer.X
	}
	switch e.(type) {
	case *ast.IndexExpr, *ast.IndexListExpr:
		return true
	}
	return false
}

// together is the text of a file with its numbered mutants in it, and where their copies are.
func (f *File) together(mutants []*Mutant) ([]byte, []span) {
	calls, copies := map[int]string{}, []string{}
	for _, m := range mutants {
		fn := m.function()
		call, text := f.copyOf(fn, m)
		calls[f.offset(fn.Body.Lbrace)+1] += fmt.Sprintf("\nif chosenMutant == %d { %s }\n", m.number, call)
		copies = append(copies, text)
	}
	var out strings.Builder
	at := 0
	for _, place := range slices.Sorted(maps.Keys(calls)) {
		out.Write(f.source[at:place])
		out.WriteString(calls[place])
		at = place
	}
	out.Write(f.source[at:])
	line := strings.Count(out.String(), "\n") + 1
	var spans []span
	for i, text := range copies {
		out.WriteString(text)
		lines := strings.Count(text, "\n")
		spans = append(spans, span{mutants[i], "", line, line + lines})
		line += lines
	}
	return []byte(out.String()), spans
}

// copyOf is a function with a mutant in it, under a name of its own, and a call that leaves the function. Parameters without a name are left out.
func (f *File) copyOf(fn *ast.FuncDecl, m *Mutant) (call, text string) {
	source := func(from, to int) string { return string(f.source[from:to]) }
	of := func(n ast.Node) string { return source(f.offset(n.Pos()), f.offset(n.End())) }
	name := fmt.Sprintf("%sMutant%d", fn.Name.Name, m.number)
	on, declared, instance, types := "", "", "", ""
	if r := receiver(fn); r != "" {
		on, declared = r+".", of(fn.Recv)+" "
	}
	if fn.Type.TypeParams != nil {
		var names []string
		for _, field := range fn.Type.TypeParams.List {
			for _, n := range field.Names {
				names = append(names, n.Name)
			}
		}
		instance, types = "["+strings.Join(names, ", ")+"]", of(fn.Type.TypeParams)
	}
	var parameters, arguments []string
	for _, field := range fn.Type.Params.List {
		for _, n := range field.Names {
			if n.Name == "_" {
				continue
			}
			argument := n.Name
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				argument += "..."
			}
			parameters, arguments = append(parameters, n.Name+" "+of(field.Type)), append(arguments, argument)
		}
	}
	body, end := f.offset(fn.Body.Lbrace), f.offset(fn.Body.Rbrace)
	text = fmt.Sprintf("\nfunc %s%s%s(%s)%s%s%s%s\n}\n", declared, name, types, strings.Join(parameters, ", "),
		source(f.offset(fn.Type.Params.End()), body), source(body, m.from), m.text, source(m.to, end))
	call = fmt.Sprintf("%s%s%s(%s)", on, name, instance, strings.Join(arguments, ", "))
	if fn.Type.Results == nil {
		return call + "; return", text
	}
	return "return " + call, text
}

// buildTogether builds all programs with all mutants in them, and numbers these. A mutant that is to be built by itself has no number. It returns the
// programs by the path of their package.
func (r *runner) buildTogether(ctx context.Context, mutants []*Mutant) (map[string]string, error) {
	left := slices.DeleteFunc(slices.Clone(mutants), func(m *Mutant) bool { return m.function() == nil })
	for {
		for i, m := range left {
			m.number = i + 1
		}
		overlay, spans, err := r.overlayTogether(left)
		if err != nil {
			return nil, err
		}
		built := map[string]string{}
		for i := range r.programs {
			if _, err = r.build(ctx, &r.programs[i], overlay, built); err != nil {
				break
			}
		}
		var refused *refusal
		switch {
		case err == nil:
			return built, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case len(left) == 0 || !errors.As(err, &refused):
			return nil, err
		}
		before := len(left)
		left = slices.DeleteFunc(left, func(m *Mutant) bool {
			named := refused.names(spans, m)
			if named {
				m.number = 0
			}
			return named
		})
		if len(left) == before { // the compiler names none of them
			for _, m := range left {
				m.number = 0
			}
			left = nil
		}
	}
}

// overlayTogether writes the files with their mutants, and what tells the compiler to read them.
func (r *runner) overlayTogether(mutants []*Mutant) (string, []span, error) {
	files := map[*File][]*Mutant{}
	replace := map[string]string{}
	write := func(path string, text []byte) error {
		replace[path] = filepath.Join(r.scratch, fmt.Sprintf("together%d.go", len(replace)))
		return os.WriteFile(replace[path], text, 0o644)
	}
	for _, m := range mutants {
		files[m.File] = append(files[m.File], m)
		declaration := filepath.Join(m.Package.Dir, "zz_chosen_mutant.go")
		if replace[declaration] == "" {
			if err := write(declaration, fmt.Appendf(nil, chosen, m.File.syntax.Name.Name, chooses)); err != nil {
				return "", nil, err
			}
		}
	}
	var spans []span
	for f, own := range files {
		text, found := f.together(own)
		if err := write(f.path, text); err != nil {
			return "", nil, err
		}
		for i := range found {
			found[i].file = filepath.Base(replace[f.path])
		}
		spans = append(spans, found...)
	}
	overlay := filepath.Join(r.scratch, "together.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	return overlay, spans, os.WriteFile(overlay, text, 0o644)
}

var complaint = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`)

// names reports whether the compiler complains of the copy of a mutant. It names the files that it reads, not those that they stand for.
func (r *refusal) names(spans []span, m *Mutant) bool {
	for _, found := range complaint.FindAllStringSubmatch(r.text, -1) {
		line, err := strconv.Atoi(found[2])
		if err != nil {
			continue
		}
		if slices.ContainsFunc(spans, func(s span) bool {
			return s.mutant == m && s.file == filepath.Base(found[1]) && s.from <= line && line <= s.to
		}) {
			return true
		}
	}
	return false
}
