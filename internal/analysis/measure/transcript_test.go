package measure_test

import (
	"cmp"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sluice-delivery/sluice/internal/sim/story"
)

// TestTranscripts plays the stories in testdata. Run with -rewrite to write down what happens now, and read the difference.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &world{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.out.Reset()
			lines := strings.Split(d.Input, "\n")
			if words := story.Directive(d); words != "" {
				lines = append([]string{words}, lines...)
			}
			for _, line := range lines {
				if err := s.line(line); err != nil {
					d.Fatalf(t, "%s: %v", line, err)
				}
			}
			return cmp.Or(s.out.String(), "nothing happens\n")
		})
	})
}

// TestCrashes plays the stories about limits again and again, and each time the controller dies before another pass: all come to the
// same end, with every measurement counted once.
func TestCrashes(t *testing.T) {
	play := func(input string, crashAt int) (end string, passes int) {
		s := &world{crashAt: crashAt}
		for line := range strings.Lines(input) {
			if err := s.line(strings.TrimSpace(line)); err != nil {
				t.Fatal(err)
			}
		}
		s.out.Reset()
		s.status()
		return regexp.MustCompile(`\(\S+-\S+\)`).ReplaceAllString(s.out.String(), ""), s.passes
	}
	datadriven.RunTest(t, "testdata/limits.txt", func(t *testing.T, d *datadriven.TestData) string {
		input := story.Directive(d) + "\n" + d.Input
		want, passes := play(input, 0)
		for at := 1; at <= passes; at++ {
			if got, _ := play(input, at); got != want {
				t.Errorf("%s\nwith a crash before pass %d:\n%s\nwithout one:\n%s", input, at, got, want)
			}
		}
		return d.Expected
	})
}
