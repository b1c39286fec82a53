package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each row of seeds.md names what shows its statement, and that exists.
func TestSeeds(t *testing.T) {
	text, err := os.ReadFile("seeds.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t)
	row, evidence := regexp.MustCompile(`^\| (.+) \| (.+) \|$`), regexp.MustCompile("`([^`]+)`")
	rows := 0
	for n, line := range strings.Split(string(text), "\n") {
		cells := row.FindStringSubmatch(line)
		if cells == nil || cells[1] == "Statement" {
			continue
		}
		rows++
		shown := evidence.FindAllStringSubmatch(cells[2], -1)
		if len(shown) == 0 {
			t.Errorf("seeds.md:%d: nothing shows this statement: %s", n+1, cells[1])
		}
		for _, s := range shown {
			file, heading, transcript := strings.Cut(s[1], ":")
			switch {
			case transcript && heading == "", transcript && !hasHeading(t, file, strings.TrimSpace(heading)):
				t.Errorf("seeds.md:%d: no heading of internal/plan/testdata/%s begins with %q", n+1, file, strings.TrimSpace(heading))
			case !transcript && !tests[s[1]]:
				t.Errorf("seeds.md:%d: there is no test %s", n+1, s[1])
			}
		}
	}
	if rows < 86 {
		t.Errorf("seeds.md has %d rows, which cannot be all statements", rows)
	}
}

// Each attack of threat-model.md names the tests of its defense, and those exist.
func TestThreatModel(t *testing.T) {
	text, err := os.ReadFile("threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, name := testNames(t), regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	for n, line := range strings.Split(string(text), "\n") {
		attack := strings.Count(line, "|") == 6 && !strings.HasPrefix(line, "|---") && !strings.HasPrefix(line, "| Asset |")
		names := name.FindAllStringSubmatch(line, -1)
		if attack && len(names) == 0 {
			t.Errorf("threat-model.md:%d: no test shows this defense", n+1)
		}
		for _, m := range names {
			if !tests[m[1]] {
				t.Errorf("threat-model.md:%d: there is no test %s", n+1, m[1])
			}
		}
	}
}

func hasHeading(t *testing.T, file, words string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../internal/plan/testdata", file))
	if err != nil {
		t.Error(err)
		return false
	}
	return strings.Contains("\n"+string(text), "\n# "+words)
}

// testNames are the tests of this module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names, declared := map[string]bool{}, regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
