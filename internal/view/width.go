package view

import (
	"strings"
	"unicode"
)

// ellipsis stands for the part that was cut.
const ellipsis = "…"

// width is how many columns of a terminal a text takes.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth is 0 for combining characters, 2 for wide East Asian characters and emoji, and 1 for the rest. Characters of
// ambiguous width count as narrow, as in Western terminals.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r == 0xFE0F, unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115F, Stride: 1}, // Hangul that begins a syllable
		{Lo: 0x2E80, Hi: 0x303E, Stride: 1},
		{Lo: 0x3041, Hi: 0xA4CF, Stride: 1},
		{Lo: 0xA960, Hi: 0xA97F, Stride: 1},
		{Lo: 0xAC00, Hi: 0xD7A3, Stride: 1},
		{Lo: 0xF900, Hi: 0xFAFF, Stride: 1},
		{Lo: 0xFE30, Hi: 0xFE6F, Stride: 1},
		{Lo: 0xFF00, Hi: 0xFF60, Stride: 1},
		{Lo: 0xFFE0, Hi: 0xFFE6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1F300, Hi: 0x1F64F, Stride: 1},
		{Lo: 0x1F680, Hi: 0x1F6FF, Stride: 1},
		{Lo: 0x1F900, Hi: 0x1FAFF, Stride: 1},
		{Lo: 0x20000, Hi: 0x3FFFD, Stride: 1},
	},
}

// cut shortens a text to a number of columns, at its end.
func cut(s string, columns int) string {
	if width(s) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	return head(s, columns-1) + ellipsis
}

// cutMiddle shortens a text to a number of columns in the middle: names of pods differ at the end, and show at the beginning
// what they belong to.
func cutMiddle(s string, columns int) string {
	if width(s) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	back := (columns - 1) / 2
	return head(s, columns-1-back) + ellipsis + tail(s, back)
}

// head is the beginning of a text, as much as fits.
func head(s string, columns int) string {
	for i, r := range s {
		if columns -= runeWidth(r); columns < 0 {
			return s[:i]
		}
	}
	return s
}

// tail is the end of a text, as much as fits.
func tail(s string, columns int) string {
	runes := []rune(s)
	for i := len(runes) - 1; i >= 0; i-- {
		if columns -= runeWidth(runes[i]); columns < 0 {
			return string(runes[i+1:])
		}
	}
	return s
}

// pad fills a text with spaces to a number of columns.
func pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(0, columns-width(s)))
}

// wrap breaks a text into lines at spaces. A word that is longer than a line is broken wherever necessary.
func wrap(s string, columns int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && width(line)+1+width(word) <= columns {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for width(word) > columns {
			part := head(word, columns)
			lines, word = append(lines, part), word[len(part):]
		}
		line = word
	}
	return append(lines, line)
}
