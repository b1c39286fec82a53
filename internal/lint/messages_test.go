package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/lint"
	"github.com/sluice-delivery/sluice/internal/manifests"
)

// withoutValue are the manifests about which a rule of the schema says more than one thing at once: such a rule has no single value.
var withoutValue = []string{"experiment-deadline-too-short", "rollout-workload-ref-of-wrong-kind", "template-metric-kayenta-threshold"}

// anyValue are parts of messages that hold whatever the value of the field is, and why.
var anyValue = map[string]string{
	" needs ":                 "another field is missing",
	"needs trafficRouting":    "another field is missing",
	"set goldenTarget.router": "another field is missing",
	"remove it":               "the field must not be there",
	"remove one of the two":   "two fields must not be there together",
	"remove the provider's":   "the field must not be there",
	"remove prometheus.query": "two fields must not be there together",
	"both can not be zero":    "this is the value",
	"there is no field":       "the field is unknown",
}

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
	var shown string
	switch value := value.(type) {
	case nil, map[string]any, []any:
		return
	case float64:
		shown = strconv.FormatFloat(value, 'f', -1, 64)
	default:
		shown = fmt.Sprint(value)
	}
	for part := range anyValue {
		if strings.Contains(text, part) {
			return
		}
	}
	name := t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]
	if says := strings.Contains(text, shown); says == slices.Contains(withoutValue, name) {
		t.Errorf("%s: %s: says that it is %s: %v", field, text, shown, says)
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
			return nil, i > 0 || len(parts) == 0
		}
		value = next
	}
	return value, true
}
