package docs_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The README is short, and its figures are those of the pages that say how they were measured.
func TestReadme(t *testing.T) {
	readme, performance, reliability := read(t, "../README.md"), read(t, "performance.md"), read(t, "reliability.md")
	if n := strings.Count(readme, "\n"); n > 100 {
		t.Errorf("README.md has %d lines, and 100 is the most", n)
	}
	for what, want := range map[string]string{
		"random updates":   grouped(sum(t, reliability, `(?m)^\| (?:basic|with|Experiments|the real)[^|]* \| ([0-9,]+) \|`)) + " random updates",
		"deliberate bugs":  fmt.Sprintf("%d deliberate bugs", faults(reliability)),
		"reaction":         rounded(t, performance, `the median is ([0-9.]+) ms`, 0) + " ms]",
		"standby":          rounded(t, performance, `standby's first write, the median is ([0-9.]+) s`, 1) + " s |",
		"writes":           rounded(t, performance, `(?m)^\| canary: .*?\| [^|]+ \| [^|]+ \| ([0-9.]+) `, 0) + " writes and no reads",
		"reads":            none(t, performance, `(?m)^\| canary: (?:[^|]*\|){5} ([0-9.]+) `) + " reads",
		"writes when idle": "5,000 idle Rollouts cost " + none(t, performance, `It writes ([0-9.]+) times on a restart`) + " write",
		"memory":           rounded(t, performance, `\*\*Idle\*\*, 5000 rollouts: .* holds ([0-9.]+) MB`, 0) + " MB]",
		"start":            rounded(t, performance, `\*\*Idle\*\*, 5000 rollouts: .* after ([0-9.]+) s `, 1) + " s |",
	} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.md does not say %q, which performance.md and reliability.md have (%s)", want, what)
		}
	}
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rounded is the only number on a page that a pattern finds.
func rounded(t *testing.T, page, pattern string, digits int) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no page has %s", pattern)
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatFloat(n, 'f', digits, 64)
}

// none is the word for a number on a page that is to be 0.
func none(t *testing.T, page, pattern string) string {
	t.Helper()
	if n := rounded(t, page, pattern, 1); n != "0.0" {
		return n
	}
	return "no"
}

// sum adds up all numbers that a pattern finds.
func sum(t *testing.T, page, pattern string) (total int) {
	t.Helper()
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(page, -1) {
		n, err := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	return total
}

// grouped writes a number with commas.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// faults counts the rows of the tables of faults.
func faults(page string) (n int) {
	inTable := false
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(line, "| fault |"):
			inTable = true
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case inTable && !strings.HasPrefix(line, "|--"):
			n++
		}
	}
	return n
}

// TestRequests: the summary of the requests and the README have what the table of the requests has.
func TestRequests(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "requests.md"), "<!-- traffic: begin")
	table, _, _ = strings.Cut(table, "<!-- traffic: end")
	_, summary, _ := strings.Cut(read(t, "reliability.md"), "<!-- traffic: begin")
	summary, _, _ = strings.Cut(summary, "<!-- traffic: end")
	type of struct{ event, strategy string }
	lost, sent, all, none := map[of]int{}, map[of]int{}, 0, 0
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| [0-9a-z.]+ \| (\d+) \| (\d+) \|`).FindAllStringSubmatch(table, -1) {
		if strings.Contains(row[2], ", no ") { // settings that lose requests
			continue
		}
		n, m := number(t, row[3]), number(t, row[4])
		lost[of{row[2], row[1]}] += m
		sent[of{row[2], row[1]}] += n
		all, none = all+n, none+m
	}
	if len(sent) == 0 {
		t.Fatal("requests.md has no table")
	}
	var strategies []string
	cells := 0
	for line := range strings.Lines(summary) {
		columns := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		switch {
		case strings.HasPrefix(line, "| requests lost |"):
			strategies = columns[1:]
		case strings.HasPrefix(line, "| "):
			for i, cell := range columns[1:] {
				key := of{strings.TrimSpace(columns[0]), strings.TrimSpace(strategies[i])}
				if want := fmt.Sprintf("%d of %d", lost[key], sent[key]); strings.TrimSpace(cell) != want {
					t.Errorf("reliability.md has %q for %v, and requests.md %q", cell, key, want)
				}
				cells++
			}
		}
	}
	if cells != len(sent) {
		t.Errorf("reliability.md has %d cells, and requests.md %d", cells, len(sent))
	}
	for _, want := range []string{grouped(all) + " real requests", fmt.Sprintf("[%d lost]", none)} {
		if !strings.Contains(read(t, "../README.md"), want) {
			t.Errorf("README.md does not say %q, which requests.md has", want)
		}
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
