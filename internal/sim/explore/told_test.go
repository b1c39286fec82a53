package explore

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-delivery/sluice/internal/manifests"
)

var rewrite = flag.Bool("rewrite", false, "write into docs/reliability.md which seed finds each fault, where another one does now")

// mostSeeds is within how many histories a fault must be found.
const mostSeeds = 5000

// told is what docs/reliability.md says about a fault in its row of a test's table. A fault without a row has no seed.
type told struct {
	test, fault string
	seed        uint64
	// flags are those of the replay, which stand behind the seed: " (`-routed`)".
	flags, rule string
}

func (r told) String() string {
	if r.seed == 0 {
		return fmt.Sprintf("nothing finds %q", r.fault)
	}
	return fmt.Sprintf("seed %d finds %q by the rule %q", r.seed, r.fault, r.rule)
}

func (r told) line() string {
	return fmt.Sprintf("| %s | %d%s | %s |\n", r.fault, r.seed, r.flags, r.rule)
}

// reliability is the page, which tests that run in parallel read and write.
var reliability sync.Mutex

// toldOf is what the page says about the fault that the subtest is named after.
func toldOf(t *testing.T) told {
	t.Helper()
	reliability.Lock()
	defer reliability.Unlock()
	test, name, _ := strings.Cut(t.Name(), "/")
	name = strings.ReplaceAll(name, "_", " ") // as package testing writes names
	for _, row := range readPage(t).rows(t, test) {
		if row.fault == name {
			return row
		}
	}
	return told{test: test, fault: name}
}

// write puts another seed into the row, or the row into its table, which is sorted by faults.
func (r told) write(t *testing.T, seed uint64, rule string) {
	t.Helper()
	reliability.Lock()
	defer reliability.Unlock()
	p := readPage(t)
	rows := slices.DeleteFunc(p.rows(t, r.test), func(other told) bool { return other.fault == r.fault })
	r.seed, r.rule = seed, rule
	rows = append(rows, r)
	slices.SortFunc(rows, func(a, b told) int { return strings.Compare(a.fault, b.fault) })
	from, to := p.table(t, r.test)
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = row.line()
	}
	if err := os.WriteFile(pagePath(), []byte(strings.Join(slices.Concat(p[:from], lines, p[to:]), "")), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("docs/reliability.md: now %s", r)
}

// page is docs/reliability.md, line by line.
type page []string

func pagePath() string { return filepath.Join(manifests.Root(), "docs", "reliability.md") }

func readPage(t *testing.T) page {
	t.Helper()
	text, err := os.ReadFile(pagePath())
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(text)))
}

// table is where the rows of a test's table are: it follows the test's name, and has two lines of a head.
func (p page) table(t *testing.T, test string) (from, to int) {
	t.Helper()
	named := slices.IndexFunc(p, func(line string) bool { return strings.Contains(line, "`"+test+"`") })
	if named < 0 {
		t.Fatalf("docs/reliability.md does not name %s before the table of what it finds", test)
	}
	from = named
	for from < len(p) && !strings.HasPrefix(p[from], "|") {
		from++
	}
	for to = from; to < len(p) && strings.HasPrefix(p[to], "|"); {
		to++
	}
	return min(from+2, to), to
}

func (p page) rows(t *testing.T, test string) []told {
	t.Helper()
	from, to := p.table(t, test)
	var rows []told
	for _, line := range p[from:to] {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 {
			t.Fatalf("docs/reliability.md: %q is not a row of three cells", line)
		}
		number, flags, flagged := strings.Cut(strings.TrimSpace(cells[2]), " ")
		seed, err := strconv.ParseUint(number, 10, 64)
		if err != nil || seed == 0 || seed > mostSeeds {
			t.Fatalf("docs/reliability.md: %q is not a seed up to %d, in %s", number, mostSeeds, line)
		}
		if flagged {
			flags = " " + flags
		}
		rows = append(rows, told{test, strings.TrimSpace(cells[1]), seed, flags, strings.TrimSpace(cells[3])})
	}
	return rows
}

// TestPageTellsOfFaultsThatAreTried: what a test does not try any more has no row; that what it tries has one, it sees to by itself.
func TestPageTellsOfFaultsThatAreTried(t *testing.T) {
	for test, tried := range map[string][]string{
		"TestMutantsAreFound":                slices.Collect(maps.Keys(broken())),
		"TestRoutedMutantsAreFound":          slices.Collect(maps.Keys(routedMutants)),
		"TestShellMutantsAreFound":           slices.Concat(slices.Collect(maps.Keys(shellMutants)), slices.Collect(maps.Keys(routedShellMutants)), slices.Collect(maps.Keys(lateShellMutants))),
		"TestExperimentMutantsAreFound":      slices.Collect(maps.Keys(experimentMutants)),
		"TestHostileMutantsAreFound":         slices.Collect(maps.Keys(hostileMutants)),
		"TestExperimentShellMutantsAreFound": slices.Collect(maps.Keys(experimentShellMutants)),
	} {
		for _, row := range readPage(t).rows(t, test) {
			if !slices.Contains(tried, row.fault) {
				t.Errorf("docs/reliability.md lists %q, which %s does not try: delete the row", row.fault, test)
			}
		}
	}
}
