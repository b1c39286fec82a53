package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/manifests"
)

// verbs are what the values of a text in the code are printed with.
var verbs = regexp.MustCompile(`%(\[\d\])?[a-z]`)

// What a page quotes as the message of a Rollout that waits is in the code, with values.
func TestQuotedWaits(t *testing.T) {
	var said []*regexp.Regexp
	for _, text := range literals(t) {
		if values := verbs.FindAllStringIndex(text, -1); len(values) > 0 && strings.Contains(text, " to ") {
			pattern := verbs.ReplaceAllString(regexp.QuoteMeta(text), "(.+)")
			said = append(said, regexp.MustCompile("^"+pattern+"$"))
		}
	}
	quote := regexp.MustCompile("`waiting for ([^`]+)`")
	count := 0
	err := filepath.WalkDir(filepath.Join(manifests.Root(), "docs"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		page, err := os.ReadFile(path)
		for _, found := range quote.FindAllStringSubmatch(strings.ReplaceAll(string(page), "\n", " "), -1) {
			count++
			if !slices.ContainsFunc(said, func(r *regexp.Regexp) bool { return r.MatchString(found[1]) }) {
				t.Errorf("%s: the controller does not say %q", path, found[0])
			}
		}
		return err
	})
	if err != nil || count < 5 {
		t.Errorf("%d quotes: %v", count, err)
	}
}
