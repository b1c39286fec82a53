package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// A strategy that a page shows has no field that there is not.
func TestStrategies(t *testing.T) {
	pages, err := filepath.Glob("*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
			var found map[string]any
			if err := yaml.Unmarshal([]byte(block[1]), &found); err != nil {
				t.Errorf("%s: %v\n%s", page, err, block[1])
			}
			if _, isStrategy := found["strategy"]; !isStrategy {
				continue
			}
			shown++
			if err := yaml.UnmarshalStrict([]byte(block[1]), &struct {
				Strategy v1alpha1.RolloutStrategy `json:"strategy"`
			}{}); err != nil {
				t.Errorf("%s: %v\n%s", page, err, block[1])
			}
		}
	}
	if shown < 5 {
		t.Errorf("%d strategies were found, which is hardly all", shown)
	}
}
