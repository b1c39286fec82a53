package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/manifests"
)

// Each message of messages.md is in the code, word by word: a message that changes takes the page along.
func TestMessages(t *testing.T) {
	page, err := os.ReadFile("messages.md")
	if err != nil {
		t.Fatal(err)
	}
	entries := regexp.MustCompile("(?m)^### ([a-z-]+)\n\n```\n(.+)\n```\n\n\\S.+$").FindAllStringSubmatch(string(page), -1)
	if headings := strings.Count(string(page), "\n### "); len(entries) < 50 || headings != len(entries) {
		t.Errorf("%d messages, 50 or more expected, and %d headings", len(entries), headings)
	}
	said := literals(t)
	names := map[string]bool{}
	for _, entry := range entries {
		name, message := entry[1], entry[2]
		if names[name] {
			t.Errorf("%s is there twice", name)
		}
		names[name] = true
		if !slices.ContainsFunc(said, func(text string) bool { return inOrder(text, strings.Split(message, "…")) }) {
			t.Errorf("%s: no text in the code is %q", name, message)
		}
	}
}

// inOrder reports whether a text has all the parts, one after another.
func inOrder(text string, parts []string) bool {
	for _, part := range parts {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return true
}

// literals are the texts of the programs, with the percent signs that they print.
func literals(t *testing.T) (all []string) {
	t.Helper()
	for _, folder := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(manifests.Root(), folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if expr, ok := n.(ast.Expr); ok {
					if text := joined(expr); text != "" {
						all = append(all, strings.ReplaceAll(text, "%%", "%"))
						return false
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// joined is the text of a literal, or of several with plus signs between them.
func joined(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value) // the parser has read it
			return text
		}
	case *ast.BinaryExpr:
		if left, right := joined(e.X), joined(e.Y); e.Op == token.ADD && left != "" && right != "" {
			return left + right
		}
	}
	return ""
}
