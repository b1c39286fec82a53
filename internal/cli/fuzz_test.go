package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/manifests"
)

// Whatever a file holds, reading it ends: with objects that say what they are, or with an error that names the file.
func FuzzObjects(f *testing.F) {
	for _, pattern := range []string{"examples/*.yaml", "api/v1alpha1/testdata/good/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(manifests.Root(), pattern))
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %d files (%v)", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	for _, text := range []string{
		"", "---\n---\n", "# nothing\n", "a: &a [*a]\n", "5\n", "[]\n", "null\n", "kind: 5\napiVersion: v1\n", "kind: List\napiVersion: v1\nitems: 5\n",
		"kind: List\napiVersion: v1\nitems: [1, null, {}]\n", "kind: RolloutList\napiVersion: argoproj.io/v1alpha1\nitems: [{metadata: []}]\n",
		"? [a, b]\n: c\n", "\ufeffkind: A\r\napiVersion: v1\r\n---\r\nb: 2\r\n", "apiVersion: v1\nkind: A\nmetadata: 5\n", `{"kind": "A", "apiVersion": "v1"}{"kind": "B"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, err := source{"web.yaml", text}.objects()
		if err != nil {
			if !strings.HasPrefix(err.Error(), "web.yaml: ") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		for _, o := range objects {
			if o.GetKind() == "" || o.GetAPIVersion() == "" {
				t.Errorf("an object does not say what it is: %v", o.Object)
			}
			_, _ = titled(o), o.GetNamespace() // of an object of any shape
		}
	})
}
