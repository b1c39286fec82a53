package lint_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/internal/lint"
	"github.com/sluice-delivery/sluice/internal/manifests"
)

// Names of rules are in annotations of users, so a rule keeps its name: one that is added is added here too.
func TestRulesKeepTheirNames(t *testing.T) {
	var got []string
	for _, r := range lint.Rules() {
		got = append(got, string(r.Name))
		if r.About == "" || r.Fix == "" || r.Severity != lint.Error && r.Severity != lint.Warning {
			t.Errorf("%+v is not complete", r)
		}
		if !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(string(r.Name)) {
			t.Errorf("%s is not in kebab case", r.Name)
		}
	}
	want := strings.Fields(`absent-field all-unavailable canary-overload coarse-weight duplicate-key duplicate-object emptied-canary invalid-analysis
		invalid-condition invalid-name invalid-notification invalid-plugin invalid-query invalid-route invalid-spec invalid-yaml kept-forever large-preview lint-ignore missing-field missing-object
		moving-image no-effect no-history no-pre-stop no-readiness not-an-object other-group schema service-owner service-selector service-type short-delay
		template-without-ports undeclared-argument unknown-field unknown-kind unknown-version unreadable-value unused-argument wrong-type`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each hazard has a rule: a hazard without one would be an error that the reference does not explain.
func TestHazardsHaveRules(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(manifests.Root(), "internal/hazard/hazard.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, r := range lint.Rules() {
		names[strings.ReplaceAll(string(r.Name), "-", "")] = r.Severity == lint.Warning
	}
	kinds := regexp.MustCompile(` Kind = "(\w+)"`).FindAllStringSubmatch(string(text), -1)
	if len(kinds) < 10 {
		t.Errorf("%d kinds of hazard were found, which is hardly all", len(kinds))
	}
	for _, kind := range kinds {
		if !names[strings.ToLower(kind[1])] {
			t.Errorf("no warning is named after the hazard %s", kind[1])
		}
	}
}

func TestSilenced(t *testing.T) {
	const web = `apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, annotations: {rollouts.argoproj.io/lint-ignore: ANNOTATION}}
spec:
  replicas: 0.5
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}
  strategy: {canary: {}}
`
	for name, tt := range map[string]struct {
		annotation string
		// want are the rules of what is reported, silenced the others.
		want, silenced []string
	}{
		"two rules": {`"no-readiness,moving-image -- never serves"`, []string{"wrong-type"}, []string{"moving-image", "no-readiness"}},
		"an error":  {`"wrong-type -- rendered later"`, []string{"moving-image", "no-readiness"}, []string{"wrong-type"}},
		"no reason": {`no-readiness`, []string{"lint-ignore", "wrong-type", "moving-image", "no-readiness"}, nil},
		"a rule that there is not, with a reason that has dashes": {
			`"no-readyness, moving-image -- built -- nightly"`, []string{"lint-ignore", "wrong-type", "no-readiness"}, []string{"moving-image"},
		},
		"the rule about the annotation": {`"lint-ignore -- no"`, []string{"lint-ignore", "wrong-type", "moving-image", "no-readiness"}, nil},
		"no text":                       {`5`, []string{"wrong-type", "wrong-type", "moving-image", "no-readiness"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			result := look(t, "web.yaml", []byte(strings.Replace(web, "ANNOTATION", tt.annotation, 1)))
			var got, silenced []string
			for _, f := range result.Findings {
				got = append(got, string(f.Rule))
			}
			for _, s := range result.Silenced {
				silenced = append(silenced, string(s.Rule))
				if s.Reason == "" {
					t.Errorf("%v has no reason", s)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.silenced, silenced); diff != "" {
				t.Errorf("silenced (-want +got):\n%s", diff)
			}
		})
	}
}
