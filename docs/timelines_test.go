package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/manifests"
)

var timeline = regexp.MustCompile("(?s)`sluice simulate -f examples/canary-([a-z-]+)\\.yaml` simulates an update of the example:\n\n```text\n(.*?)\n```")

// The timelines on the pages of routers are what simulate draws of their examples, which its own tests hold to these files.
func TestTimelinesOfRouters(t *testing.T) {
	pages, err := filepath.Glob("routers/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range timeline.FindAllSubmatch(text, -1) {
			found++
			name := string(match[1])
			drawn, err := os.ReadFile(filepath.Join(manifests.Root(), "internal/cli/testdata/simulate", name+".out"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(drawn), string(match[2])) {
				t.Errorf("%s: the timeline is not what simulate draws now; copy it from internal/cli/testdata/simulate/%s.out", page, name)
			}
		}
	}
	if found == 0 {
		t.Error("no page has a timeline")
	}
}
