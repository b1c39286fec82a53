package clean_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/clean"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"web:1":                "web:1",
		"größer → 日本 🚀":        "größer → 日本 🚀",
		"a\nb\tc":              "a\nb\tc",
		"y\x1b[31m:2":          `y\u001b[31m:2`,
		"a\u009b31mb":          `a\u009b31mb`,
		"a\x7fb\rc\x00":        `a\u007fb\u000dc\u0000`,
		"user\u202etxt.exe":    `user\u202etxt.exe`,
		"\u2066a\u2069":        `\u2066a\u2069`,
		"\u200e\u200f\u061c":   `\u200e\u200f\u061c`,
		"a\u2028b\ufeff":       `a\u2028b\ufeff`,
		"\U000e0041":           `\U000e0041`,
		"not \xff UTF-8 \x9b1": `not \xff UTF-8 \x9b1`,
	} {
		if got := clean.Text(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestJSONKeepsItsMeaning(t *testing.T) {
	const hostile = "a\u202e\u009b\U000e0041\x7fb"
	text, err := json.MarshalIndent(map[string]string{hostile: hostile}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	escaped := clean.JSON(string(text))
	if strings.ContainsFunc(escaped, clean.IsHidden) {
		t.Errorf("%q has hidden characters", escaped)
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(escaped), &back); err != nil || back[hostile] != hostile {
		t.Errorf("%s reads as %q (%v)", escaped, back, err)
	}
}

func FuzzText(f *testing.F) {
	f.Add("y\x1b[31m\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		if got := clean.Text(text); strings.ContainsFunc(got, clean.IsHidden) || clean.Text(got) != got {
			t.Errorf("%q is shown as %q", text, got)
		}
	})
}
