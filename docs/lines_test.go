package docs_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/sluice-delivery/sluice/internal/cli"
	"github.com/sluice-delivery/sluice/internal/manifests"
)

// names are those that the command line answers to.
var names = regexp.MustCompile(`^(?:bin/)?(?:sluice|kubectl argo rollouts|kubectl sluice) +`)

// Every command line that a page shows is one that the CLI accepts: the command and its flags exist, and it has as many arguments as
// it needs. One within a sentence may leave arguments out.
func TestCommandLines(t *testing.T) {
	root := manifests.Root()
	shown := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "charts/*/templates/NOTES.txt"} {
		pages, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(pages) == 0 {
			t.Fatalf("no pages at %s (%v)", pattern, err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range linesOf(string(text)) {
				shown++
				if err := l.parse(); err != nil {
					rel, _ := filepath.Rel(root, page) // it was found there
					t.Errorf("%s:%d: %s: %v", rel, l.number, l.text, err)
				}
			}
		}
	}
	if shown < 100 {
		t.Errorf("%d command lines were found, which is hardly all", shown)
	}
}

// line is a command line on a page.
type line struct {
	number int
	text   string
	// inSentence: it may lack arguments.
	inSentence bool
}

var inlineCode = regexp.MustCompile("`([^`]+)`")

// linesOf are the command lines of a page: those that stand alone, and those within sentences.
func linesOf(page string) (all []line) {
	for i, text := range strings.Split(page, "\n") {
		alone := strings.TrimPrefix(strings.TrimSpace(text), "$ ")
		switch {
		case names.MatchString(alone):
			all = append(all, line{number: i + 1, text: alone})
		default:
			for _, code := range inlineCode.FindAllStringSubmatch(text, -1) {
				if names.MatchString(code[1]) {
					all = append(all, line{number: i + 1, text: code[1], inSentence: true})
				}
			}
		}
	}
	return all
}

// parse has the command line parse a line, as far as it goes without running it.
func (l line) parse() error {
	root := cli.Command()
	root.InitDefaultCompletionCmd()
	cmd, rest, err := root.Find(words(names.ReplaceAllString(l.text, "")))
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if l.inSentence {
		return nil
	}
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

var (
	// synopsis is what stands around words that may be left out, or of which there may be several, in a chart's notes too.
	synopsis = regexp.MustCompile(`\[flags\]|\.\.\.|[][]|\(.*\| *| *\)|\{\{[^}]*\}\}`)
	// word is one as a shell sees it, with quotes around all of it or none.
	word = regexp.MustCompile(`'([^']*)'|"([^"]*)"|[^\s'"]+`)
)

// words are those of a command up to what a shell keeps for itself.
func words(command string) (all []string) {
	command = synopsis.ReplaceAllString(command, "")
	for _, found := range word.FindAllStringSubmatch(command, -1) {
		if strings.ContainsAny(found[0][:1], "#|&<>") {
			break
		}
		all = append(all, found[0])
		if found[1]+found[2] != "" {
			all[len(all)-1] = found[1] + found[2]
		}
	}
	return all
}
