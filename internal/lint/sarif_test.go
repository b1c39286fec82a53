package lint_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/internal/lint"
)

const sarifInput = `# Source: web/templates/rollout.yaml
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, annotations: {rollouts.argoproj.io/lint-ignore: "moving-image -- built nightly"}}
spec:
  replicas: 0.5
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}
  strategy: {canary: {}}
`

// The log is as testdata/sarif.json has it, which was held to the JSON schema of SARIF 2.1.0, and has the shape that the standard asks for.
func TestSARIF(t *testing.T) {
	plain := strings.SplitN(sarifInput, "\n", 2)[1]
	result, err := lint.Files(t.Context(), []lint.File{
		{Name: "a b/%1.yaml", Text: []byte(plain)},
		{Name: lint.Stdin, Text: []byte(strings.ReplaceAll(sarifInput, "name: web,", "name: piped,"))},
		{Name: "broken.yaml", Text: []byte("a: [")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := result.Format("sarif", "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/sarif.json"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	checkSARIF(t, []byte(got))
}

// A log without findings has a list of results without elements: null would say that nothing was looked at.
func TestSARIFOfNothing(t *testing.T) {
	got, err := lint.Result{}.Format("sarif", "")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, `"results": []`) {
		t.Error(got)
	}
	checkSARIF(t, []byte(got))
}

// checkSARIF holds a log to sections 3.13 to 3.49 of the standard, for the properties that we write: which there may be, which there
// must be, and what values they have.
func checkSARIF(t *testing.T, text []byte) {
	t.Helper()
	type message struct {
		Text string `json:"text"`
	}
	var log struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name    string `json:"name"`
					Version string `json:"version"`
					Rules   []struct {
						ID                   string  `json:"id"`
						ShortDescription     message `json:"shortDescription"`
						Help                 message `json:"help"`
						DefaultConfiguration struct {
							Level string `json:"level"`
						} `json:"defaultConfiguration"`
					} `json:"rules"`
				} `json:"driver"`
			} `json:"tool"`
			ColumnKind string `json:"columnKind"`
			Results    []struct {
				RuleID    string  `json:"ruleId"`
				RuleIndex int     `json:"ruleIndex"`
				Level     string  `json:"level"`
				Message   message `json:"message"`
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct {
							URI string `json:"uri"`
						} `json:"artifactLocation"`
						Region *struct {
							StartLine int `json:"startLine"`
						} `json:"region"`
					} `json:"physicalLocation"`
					LogicalLocations []struct {
						FullyQualifiedName string `json:"fullyQualifiedName"`
						Kind               string `json:"kind"`
					} `json:"logicalLocations"`
				} `json:"locations"`
				Suppressions []struct {
					Kind          string `json:"kind"`
					Justification string `json:"justification"`
				} `json:"suppressions"`
			} `json:"results"`
		} `json:"runs"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].Tool.Driver.Name == "" {
		t.Fatalf("not a log with one run: %s", text)
	}
	run, levels := log.Runs[0], []string{"none", "note", "warning", "error"}
	for _, rule := range run.Tool.Driver.Rules {
		if rule.ID == "" || rule.ShortDescription.Text == "" || !slices.Contains(levels, rule.DefaultConfiguration.Level) {
			t.Errorf("rule %+v", rule)
		}
	}
	for _, r := range run.Results {
		if r.RuleIndex < 0 || r.RuleIndex >= len(run.Tool.Driver.Rules) || run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("rule %d is not %s", r.RuleIndex, r.RuleID)
		}
		if r.Message.Text == "" || !slices.Contains(levels, r.Level) || len(r.Locations) != 1 {
			t.Errorf("result %+v", r)
		}
		for _, l := range r.Locations {
			if uri := l.PhysicalLocation.ArtifactLocation.URI; uri == "" || strings.ContainsAny(uri, "<> ") {
				t.Errorf("%q is no reference to a file", uri)
			}
			if region := l.PhysicalLocation.Region; region != nil && region.StartLine < 1 {
				t.Errorf("line %d", region.StartLine)
			}
		}
		for _, s := range r.Suppressions {
			if s.Kind != "inSource" && s.Kind != "external" || s.Justification == "" {
				t.Errorf("suppression %+v", s)
			}
		}
	}
}
