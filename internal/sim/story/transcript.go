package story

import (
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/sim/script"

	"github.com/cockroachdb/datadriven"
)

// Transcripts plays the stories in testdata, each in a world of its own. Run with -rewrite to write down what happens now,
// and read the difference.
func Transcripts(t *testing.T) {
	t.Helper()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		script := script.New()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for _, line := range append([]string{Directive(d)}, strings.Split(d.Input, "\n")...) {
				text, err := script.Run(line)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				out.WriteString(text)
			}
			if out.Len() == 0 {
				return "nothing happens\n"
			}
			return out.String()
		})
	})
}

// Directive is the first line of a paragraph, put together again.
func Directive(d *datadriven.TestData) string {
	words := []string{d.Cmd}
	for _, arg := range d.CmdArgs {
		word := arg.Key
		if len(arg.Vals) > 0 {
			word += "=" + strings.Join(arg.Vals, ", ")
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
