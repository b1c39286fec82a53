// Command words looks for the words that the glossary of AGENTS.md asks writers to avoid, in everything that people read: pages, manifests,
// comments, and messages. make verify runs it.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: words GLOSSARY TODO FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

func run(glossaryPath, todoPath, root string) error {
	text, err := os.ReadFile(glossaryPath)
	if err != nil {
		return err
	}
	glossary := parseGlossary(string(text))
	if len(glossary) == 0 {
		return fmt.Errorf("%s has no words to avoid: rows of the glossary name them in backquotes", glossaryPath)
	}
	text, err = os.ReadFile(todoPath)
	if err != nil {
		return err
	}
	todo := parseTodo(string(text))

	found, err := search(root, glossary)
	if err != nil {
		return err
	}
	problems := todo.filter(found)
	for _, path := range todo.idle(found) {
		problems = append(problems, fmt.Sprintf("%s: %s contains none of the words; delete the line", todoPath, path))
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s", strings.Join(problems, "\nwords: "))
	}
	return nil
}

// finding is a word to avoid in a file.
type finding struct {
	path string // below the root, with slashes
	line int
	word string
	term term
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %q: write %s", f.path, f.line, f.word, f.term.instead)
}

// search finds the words in all files below a folder, by path and line.
func search(root string, glossary []term) (all []finding, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(skipped, d.Name()) && path != root {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || !isText(d.Name()) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		all = append(all, findIn(filepath.ToSlash(rel), text, glossary)...)
		return nil
	})
	return all, err
}

// skipped are folders of recorded output, of programs, and of git.
var skipped = []string{".git", "bin", "dist", "testdata"}

func isText(name string) bool {
	return slices.Contains([]string{".md", ".go", ".yaml", ".yml", ".sh", ".mk", ".tpl", ".txt"}, filepath.Ext(name)) ||
		slices.Contains([]string{"Makefile", "Dockerfile"}, name)
}

func findIn(path string, text []byte, glossary []term) (all []finding) {
	words := prose(path, text)
	for _, t := range glossary {
		for _, at := range t.pattern.FindAllIndex(words, -1) {
			all = append(all, finding{
				path: path, line: 1 + bytes.Count(text[:at[0]], []byte("\n")), word: strings.Join(strings.Fields(string(words[at[0]:at[1]])), " "), term: t,
			})
		}
	}
	slices.SortStableFunc(all, func(a, b finding) int { return cmp.Compare(a.line, b.line) })
	return all
}
