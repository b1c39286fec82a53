package main

import (
	"regexp"
	"slices"
	"strings"
)

// term is a row of the glossary: words to avoid, and what to write instead.
type term struct {
	pattern *regexp.Regexp
	instead string
}

var row = regexp.MustCompile(`(?m)^\| ([^|]*) \| ([^|]*) \|`)

// parseGlossary reads the rows of a table that name words in backquotes. The other rows are for people alone, who know which meaning is meant.
func parseGlossary(page string) (all []term) {
	for _, cells := range row.FindAllStringSubmatch(page, -1) {
		var phrases []string
		for _, quoted := range code.FindAllString(cells[1], -1) {
			phrases = append(phrases, strings.Join(strings.Fields(regexp.QuoteMeta(strings.Trim(quoted, "`"))), `\s+`))
		}
		if len(phrases) > 0 {
			all = append(all, term{pattern: regexp.MustCompile(`(?i)\b(?:` + strings.Join(phrases, "|") + `)\b`), instead: cells[2]})
		}
	}
	return all
}

// todo lists the exceptions.
type todo []entry

// entry is a file, a folder, or an ending such as *_test.go. With a word after it, it stands for that word alone: one that a
// language has, say.
type entry struct{ path, word string }

func parseTodo(text string) (t todo) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		path, word, _ := strings.Cut(strings.TrimSpace(line), " ")
		if path != "" {
			t = append(t, entry{path: path, word: strings.TrimSpace(word)})
		}
	}
	return t
}

func (e entry) String() string { return strings.TrimSpace(e.path + " " + e.word) }

func (e entry) covers(f finding) bool {
	if e.word != "" && !strings.EqualFold(e.word, f.word) {
		return false
	}
	if ending, isEnding := strings.CutPrefix(e.path, "*"); isEnding {
		return strings.HasSuffix(f.path, ending)
	}
	return f.path == e.path || strings.HasPrefix(f.path, strings.TrimSuffix(e.path, "/")+"/")
}

// filter keeps what is found in places that no entry covers.
func (t todo) filter(found []finding) (problems []string) {
	for _, f := range found {
		if !slices.ContainsFunc(t, func(e entry) bool { return e.covers(f) }) {
			problems = append(problems, f.String())
		}
	}
	return problems
}

// idle are the entries that cover nothing.
func (t todo) idle(found []finding) (entries []string) {
	for _, e := range t {
		if !slices.ContainsFunc(found, e.covers) {
			entries = append(entries, e.String())
		}
	}
	return entries
}
