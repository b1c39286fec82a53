// Command reference writes the reference of the API: a page for each kind with all its fields, from the CRDs, and a page of the conditions,
// reasons, events, labels and annotations that the programs use, from the constants of the API package, and a page of the rules of sluice lint.
//
// It is given the folders of the CRDs, the API package, the code that uses it, and the pages, which it empties of pages before.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: reference CRDS API CODE PAGES")
		os.Exit(2)
	}
	if err := writeAll(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func writeAll(crds, api, code, pages string) error {
	old, err := filepath.Glob(filepath.Join(pages, "*.md"))
	if err != nil {
		return err
	}
	for _, page := range old {
		if err := os.Remove(page); err != nil {
			return err
		}
	}
	kinds, err := readKinds(crds)
	if err != nil {
		return err
	}
	names, err := namesPage(api, code)
	if err != nil {
		return err
	}
	index := "# API reference\n\nThese pages are generated from the API's types (`make generate-docs`).\n\n| page | |\n|---|---|\n"
	var failures []error
	for _, k := range kinds {
		index += fmt.Sprintf("| [%s](%s) | %s |\n", k.name, k.file(), cell(firstSentence(k.description())))
		failures = append(failures, os.WriteFile(filepath.Join(pages, k.file()), []byte(k.page()), 0o644))
	}
	index += "| [Lint rules](lint.md) | the rules of sluice lint, and how to silence them |\n"
	index += "| [Names](names.md) | conditions, reasons, events, labels, and annotations |\n"
	failures = append(failures, os.WriteFile(filepath.Join(pages, "names.md"), []byte(names), 0o644),
		os.WriteFile(filepath.Join(pages, "lint.md"), []byte(lintPage()), 0o644),
		os.WriteFile(filepath.Join(pages, "README.md"), []byte(index), 0o644))
	return errors.Join(failures...)
}

func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".") + "."
}

// cell makes a text fit into a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;").Replace(strings.Join(strings.Fields(text), " "))
}
