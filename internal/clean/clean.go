// Package clean is the one place where what comes from a cluster or a file is made safe to show: characters that steer a terminal, or change
// the order in which text is read, are written out as escapes such as \u202e.
//
// What must not be here: layout, colors. Imports the standard library only.
package clean

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// IsHidden reports whether a character is to be escaped: controls (Cc, which has ESC, DEL and the C1 set), formats (Cf, which has the
// bidirectional controls, zero-width characters and tags) and the separators of lines and paragraphs. Line ends and tabs are not.
func IsHidden(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u2028', '\u2029', '\u034f', '\u115f', '\u1160', '\u3164', '\uffa0': // they are shown as nothing
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf)
}

// Text is a text with hidden characters escaped. Bytes that are not UTF-8 become \x and their value.
func Text(s string) string { return escape(s, escaped) }

// JSON is a text of JSON with the same meaning, in which no string has a hidden character.
func JSON(s string) string {
	return escape(s, func(r rune) string {
		if first, second := utf16.EncodeRune(r); first != unicode.ReplacementChar {
			return fmt.Sprintf(`\u%04x\u%04x`, first, second)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

func escaped(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

func escape(s string, as func(rune) string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, IsHidden) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case IsHidden(r):
			b.WriteString(as(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// JSONWriter escapes what is written to it, which is JSON and stays the same JSON. Each write must have whole characters.
type JSONWriter struct{ To io.Writer }

// Write writes JSON without hidden characters.
func (w JSONWriter) Write(p []byte) (int, error) {
	if _, err := w.To.Write([]byte(JSON(string(p)))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Writer escapes what is written to it. Each write must have whole characters.
type Writer struct{ To io.Writer }

// Write writes a text without hidden characters.
func (w Writer) Write(p []byte) (int, error) {
	if _, err := w.To.Write([]byte(Text(string(p)))); err != nil {
		return 0, err
	}
	return len(p), nil
}
