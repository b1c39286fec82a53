package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/manifests"
)

// remedy is how a message says what to do: a clause that begins with what one does, or what the field has to be.
var remedy = regexp.MustCompile(`(?i)(^|[:;.,(?]|\b(or|and|so|to|then|which|instead)) (then )?` +
	`(set|write|add|remove|use|name|give|convert|lower|raise|create|repeat|choose|rename|move|leave|list|put|take|fix|correct|have|make|begin|keep|shorten|refer|say|see|` +
	`install|edit|promote|run|ask|delete|replace|declare|check|wait|upgrade|start|point|try|increase|turn|call|pass|apply|log|change|select|let|compare|allow)\b` +
	`|^(set|name|use|give|list|write|add|remove) ` +
	`|did you mean|did the command|is the cluster up|is it the cluster|is it in another one|(there are|it has|its variables are) %s` +
	`|\bmust (not )?(be|have|lead|exceed|begin|come)\b|\bneeds?( to be)? |is required|such as|for example|is not one of|cannot be the (name|key|value|prefix) of .*: |is not [A-Z]+=[A-Z]+|write `)

// messages are where the sentences for users are made: in each folder, the functions whose first text with a space in it is the message.
var messages = map[string]*regexp.Regexp{
	"internal/spec":     regexp.MustCompile(`^add$`),
	"internal/analysis": regexp.MustCompile(`^(add|problem)$`),
	"internal/lint":     regexp.MustCompile(`^(report|mistake)$`),
	"internal/cli":      regexp.MustCompile(`^(Errorf|New)$`),
	"internal/cli/act":  regexp.MustCompile(`^(Errorf|New)$`),
	"internal/cli/live": regexp.MustCompile(`^(Errorf|New)$`),
	"internal/hazard":   regexp.MustCompile(`^add$`),
	"internal/expr":     regexp.MustCompile(`^Errorf$`),
}

// without are the messages without a remedy, and why they have none.
var without = map[string]string{
	"argument %q: fieldRef %q: %s":                        "the last part is the sentence of a path, which has one",
	"not in time":                                         "never shown: callers say what was waited for",
	"not successful: %d of %d metrics":                    "a result, which the lines above explain",
	"rollout '%s' has no revision before the current one": "there is nothing that one could return to",
}

// Every message of InvalidSpec and lint, and every error of the command line, says what to do.
func TestRemedies(t *testing.T) {
	unused := maps.Clone(without)
	count := 0
	for _, folder := range slices.Sorted(maps.Keys(messages)) {
		for text, where := range said(t, folder, messages[folder]) {
			count++
			_, excepted := without[text]
			delete(unused, text)
			if has := remedy.MatchString(text); has == excepted {
				t.Errorf("%s: %q: has a remedy: %v, is an exception: %v", where, text, has, excepted)
			}
		}
	}
	if count < 200 {
		t.Errorf("%d messages: are they made elsewhere now?", count)
	}
	for text := range unused {
		t.Errorf("%q is not in the code: take it off the exceptions", text)
	}
}

// wraps is a text that only puts a name or an action before an error of someone else.
var wraps = regexp.MustCompile(`^[^:]*(: )?(%[sqTw](: )?)+$`)

// said are the messages that the functions of a folder are called with, and where.
func said(t *testing.T, folder string, makes *regexp.Regexp) map[string]string {
	t.Helper()
	all := map[string]string{}
	root := filepath.Join(manifests.Root(), folder)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !makes.MatchString(called(call)) {
				return true
			}
			for _, arg := range call.Args {
				if text := joined(arg); strings.Contains(text, " ") && !wraps.MatchString(text) {
					all[text] = files.Position(call.Pos()).String()
					break
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}
