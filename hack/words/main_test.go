package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const glossary = "| not | but |\n|---|---|\n| `in lieu of`, `forthwith` | reported, again |\n| behind (in time) | after |\n"

// A word of the glossary is found where people read it, and nowhere else.
func TestWords(t *testing.T) {
	for name, c := range map[string]struct {
		file, text, todo string
		// found is part of the only problem; empty: there is none.
		found string
	}{
		"in a page":                           {file: "docs/page.md", text: "fine\nList it Forthwith.\n", found: `docs/page.md:2: "Forthwith": write reported, again`},
		"over two lines":                      {file: "docs/page.md", text: "it is in lieu\nof there\n", found: `docs/page.md:1: "in lieu of"`},
		"not as a part of a word":             {file: "docs/page.md", text: "forthwither\n"},
		"not as code":                         {file: "docs/page.md", text: "in lieu `x` of, and `forthwith`\n"},
		"not as a word that people judge":     {file: "docs/page.md", text: "behind\n"},
		"in a comment of Go":                  {file: "a.go", text: "package a\n\n// f lists forthwith.\nfunc f() {}\n", found: `a.go:3: "forthwith"`},
		"over two lines of a comment":         {file: "a.go", text: "package a\n\n\t// it is in lieu\n\t// of there\n", found: `a.go:3: "in lieu of"`},
		"in a message of Go":                  {file: "a.go", text: "package a\n\nvar f = \"list it forthwith\"\n", found: `a.go:3: "forthwith"`},
		"in a help text of Go":                {file: "a.go", text: "package a\n\nvar f = `list\nit forthwith`\n", found: `a.go:4: "forthwith"`},
		"not as a name of Go":                 {file: "a.go", text: "package a\n\nvar forthwith = \"forthwith\"\n"},
		"in a manifest":                       {file: "a.yaml", text: "a: 1 # forthwith\n", found: `a.yaml:1: "forthwith"`},
		"not in recorded output":              {file: "testdata/a.txt", text: "forthwith\n"},
		"not where it is still to do":         {file: "docs/page.md", text: "forthwith\n", todo: "docs # later\n"},
		"in a folder with a longer name":      {file: "docs2/page.md", text: "forthwith\n", todo: "docs2\n"},
		"not where that word is still to do":  {file: "docs/page.md", text: "forthwith\n", todo: "docs/page.md forthwith\n"},
		"where another word is still to do":   {file: "docs/page.md", text: "forthwith, in lieu of\n", todo: "docs forthwith\n", found: `"in lieu of"`},
		"not at an ending that is to do":      {file: "a_test.go", text: "package a // forthwith\n", todo: "*_test.go\n"},
		"an entry with nothing left to do":    {file: "docs/page.md", text: "again\n", todo: "docs\n", found: "docs contains none of the words"},
		"an entry for a word that is no more": {file: "docs/page.md", text: "again\n", todo: "docs forthwith\n", found: "docs forthwith contains none of the words"},
	} {
		t.Run(name, func(t *testing.T) {
			root, lists := t.TempDir(), t.TempDir()
			for path, text := range map[string]string{
				filepath.Join(root, c.file): c.text, filepath.Join(lists, "glossary.md"): glossary, filepath.Join(lists, "todo.txt"): c.todo,
			} {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := run(filepath.Join(lists, "glossary.md"), filepath.Join(lists, "todo.txt"), root)
			switch {
			case c.found == "" && err != nil:
				t.Error(err)
			case c.found != "" && (err == nil || !strings.Contains(err.Error(), c.found) || strings.Contains(err.Error(), "\n")):
				t.Errorf("got %v, not one problem with %s", err, c.found)
			}
		})
	}
}

// The glossary of this repository has words to look for.
func TestGlossary(t *testing.T) {
	page, err := os.ReadFile("../../AGENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	if all := parseGlossary(string(page)); len(all) < 20 {
		t.Errorf("AGENTS.md has %d rows with words to look for, which is hardly all", len(all))
	}
}
