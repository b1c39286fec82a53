package measure

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A long text is cut between two characters, never within one.
func TestCut(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("x", longest):                  strings.Repeat("x", longest),
		strings.Repeat("x", longest+1):                strings.Repeat("x", longest) + "…",
		strings.Repeat("x", longest-1) + "éé":         strings.Repeat("x", longest-1) + "…",
		strings.Repeat("x", longest-3) + "\U0001F600": strings.Repeat("x", longest-3) + "…",
	} {
		if got := cut(text, longest); got != want || !utf8.ValidString(got) {
			t.Errorf("%d bytes are cut to %d: …%q", len(text), len(got), got[max(0, len(got)-8):])
		}
	}
}
