package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What people once read who made these mistakes led them elsewhere.
func TestEachMistakeIsReportedOnceWhereItIs(t *testing.T) {
	const top = `apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1", readinessProbe: {tcpSocket: {port: 80}}}]}}
`
	lines := strings.Count(top, "\n")
	const oneOf = "a step must have exactly one of setWeight, pause, experiment, analysis, setCanaryScale, setHeaderRoute, setMirrorRoute and plugin"
	for name, tt := range map[string]struct {
		spec string
		// want are the line after those of the top, the field and how its text begins.
		want []string
	}{
		"one schema error does not hide the rest": {
			"  replicas: x\n  strategy:\n    canary:\n      steps:\n        - {}\n        - pause: {duration: 1.5}\n        - setWeight: 101\n",
			[]string{
				`1 spec.replicas: "x" must be a whole number`,
				"5 spec.strategy.canary.steps[0]: " + oneOf,
				"6 spec.strategy.canary.steps[1].pause.duration: 1.5 must be a whole number, or a text in quotes",
				"7 spec.strategy.canary.steps[2].setWeight: SetWeight needs to be between 0 and 100, and is 101",
			},
		},
		"an empty step lists all kinds": {
			"  strategy: {canary: {steps: [{}]}}\n",
			[]string{"1 spec.strategy.canary.steps[0]: " + oneOf},
		},
		"a length of time where seconds belong": {
			"  minReadySeconds: 30s\n  strategy: {canary: {}}\n",
			[]string{`1 spec.minReadySeconds: "30s" must be a whole number of seconds: write 30`},
		},
		"numbers that are not whole, or too large": {
			"  replicas: 10.5\n  minReadySeconds: 99999999999\n  strategy: {canary: {}}\n",
			[]string{
				"1 spec.replicas: 10.5 must be a whole number",
				"2 spec.minReadySeconds: 99999999999 is out of range: write a number from -2147483648 to 2147483647",
			},
		},
		"an empty activeService has one error": {
			"  strategy:\n    blueGreen:\n      activeService: \"\"\n",
			[]string{"3 spec.strategy.blueGreen.activeService: is empty"},
		},
		"milliseconds are a length of time": {"  strategy: {canary: {steps: [{pause: {duration: 100ms}}]}}\n", nil},
		"a length of time without a unit that is one": {
			"  strategy:\n    canary:\n      steps:\n        - pause: {duration: 1d}\n",
			[]string{"4 spec.strategy.canary.steps[0].pause.duration: "},
		},
		"names that no Service can have": {
			"  strategy:\n    canary:\n      canaryService: Bad_Name\n      stableService: web stable\n",
			[]string{
				`3 spec.strategy.canary.canaryService: "Bad_Name" cannot be the name of a Service`,
				`4 spec.strategy.canary.stableService: "web stable" cannot be the name of a Service`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range look(t, "web.yaml", []byte(top+tt.spec)).Findings {
				text := fmt.Sprintf("%d %s: %s", f.Line-lines, f.Field, f.Message)
				if i := slices.IndexFunc(tt.want, func(w string) bool { return strings.HasPrefix(text, w) }); i >= 0 {
					text = tt.want[i]
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
