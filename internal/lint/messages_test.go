package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/lint"
	"github.com/sluice-delivery/sluice/internal/manifests"
)

// valueUnsaid are manifests whose messages do not repeat the value of the field that they name, because another value is wrong, or because the
// message holds whatever the value is.
var valueUnsaid = map[string]string{}

// Each message about each bad manifest names the object, a field of it, and the value where the field is a single one: what InvalidSpec says as
// well as what lint says. What to do instead is held by TestRemedies in docs.
func TestMessagesNameObjectFieldAndValue(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(manifests.Root(), "api/v1alpha1/testdata/bad/*.yaml"))
	if err != nil || len(files) < 150 {
		t.Fatal(len(files), err)
	}
	messages := 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var object map[string]any
			if err := yaml.Unmarshal(text, &object); err != nil {
				t.Fatal(err)
			}
			if object["kind"] == "Rollout" {
				for _, p := range problems(t, text) {
					messages++
					holdsValue(t, object, p.Field, p.Text)
				}
			}
			title := fmt.Sprint(object["kind"], " ", object["metadata"].(map[string]any)["name"])
			errors := 0
			for _, f := range look(t, "web.yaml", text).Findings {
				messages++
				if f.Object != title || f.Line < 1 || !strings.Contains(f.String(), fmt.Sprintf("%s: %s: ", title, f.Field)) {
					t.Errorf("%s does not begin with %s and a field", f, title)
				}
				if f.Severity == lint.Error {
					errors++
					holdsValue(t, object, f.Field, f.Message)
				}
			}
			if errors == 0 {
				t.Error("lint finds no error")
			}
		})
	}
	t.Logf("%d messages about %d manifests", messages, len(files))
}

// holdsValue checks that a message is about a field of the object, or one that is missing in a part of it, and repeats a single value.
func holdsValue(t *testing.T, object map[string]any, field, text string) {
	t.Helper()
	value, parent := at(object, field)
	if !parent {
		t.Errorf("%s: %s: there is no such field, and nothing that it is missing in", field, text)
	}
	shown := fmt.Sprint(value)
	switch value.(type) {
	case nil, map[string]any, []any:
		return
	}
	name := t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]
	if _, known := valueUnsaid[name]; !known && shown != "" && !strings.Contains(text, shown) {
		t.Errorf("%s: %s: does not say that it is %s", field, text, shown)
	}
}

var pathParts = regexp.MustCompile(`[^.\[\]]+|\[[^\]]*\]`)

// at is the value of a field, nil if it is missing, and whether what it would be in is there.
func at(object map[string]any, field string) (value any, parent bool) {
	value = object
	parts := pathParts.FindAllString(field, -1)
	for i, part := range parts {
		var next any
		switch in := value.(type) {
		case map[string]any:
			next = in[strings.Trim(part, `[]"`)]
		case []any:
			var index int
			if _, err := fmt.Sscanf(part, "[%d]", &index); err == nil && index < len(in) {
				next = in[index]
			}
		}
		if next == nil {
			return nil, i >= len(parts)-2 || len(parts) == 0
		}
		value = next
	}
	return value, true
}
