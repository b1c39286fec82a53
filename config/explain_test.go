package config_test

import (
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// kubectl explain describes every field of these levels, in paragraphs that fill the lines.
func TestKubectlExplain(t *testing.T) {
	ns := playtest.New(t)
	for _, level := range []string{
		"rollout", "rollout.spec", "rollout.spec.strategy", "rollout.spec.strategy.canary", "rollout.spec.strategy.canary.steps",
		"rollout.spec.strategy.canary.trafficRouting", "rollout.spec.strategy.blueGreen", "rollout.status", "analysistemplate.spec",
		"analysistemplate.spec.metrics", "analysistemplate.spec.metrics.provider", "experiment.spec", "experiment.spec.templates",
	} {
		t.Run(level, func(t *testing.T) {
			text := kubectl(t, ns, "explain", level)
			if !strings.Contains(text, "DESCRIPTION:\n    ") || strings.Contains(text, "<empty>") {
				t.Errorf("the level has no description:\n%s", text)
			}
			_, fields, _ := strings.Cut(text, "FIELDS:\n")
			for field := range strings.SplitSeq(strings.TrimSpace(fields), "\n\n") {
				name, description, _ := strings.Cut(field, "\n")
				if strings.TrimSpace(description) == "" || strings.Contains(description, "<no description>") {
					t.Errorf("%s has no description", strings.TrimSpace(name))
				}
				lines := strings.Split(description, "\n")
				for i, line := range lines[:len(lines)-1] {
					next := strings.Fields(lines[i+1])
					if len(next) > 0 && !strings.HasPrefix(line, "  enum:") && len(line)+1+len(next[0]) < 75 {
						t.Errorf("%s: a line ends in the middle of a paragraph:\n%s", strings.TrimSpace(name), description)
					}
				}
			}
		})
	}
}
