package main

import (
	"fmt"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/lint"
)

// lintPage has a heading for each rule, so that every rule can be linked by its name.
func lintPage() string {
	var page strings.Builder
	fmt.Fprintf(&page, `# Lint rules

[sluice lint](../commands/lint.md) prints the name of a rule in brackets after each finding. An error would be rejected by the API server or the
controller. A warning may be intended. To silence rules for one object, annotate it. The reason after the dashes is required:

`+"```yaml"+`
metadata:
  annotations:
    %s: "no-readiness, moving-image -- started by hand, never serves"
`+"```"+`

Mistakes that leave no object to annotate cannot be silenced, such as invalid YAML. [Messages](../messages.md) explains the most common messages.
`, v1alpha1.LintIgnoreAnnotation)
	for _, r := range lint.Rules() {
		fmt.Fprintf(&page, "\n## %s\n\n%s. %s To fix it: %s\n", r.Name, strings.ToUpper(string(r.Severity[:1]))+string(r.Severity[1:]), r.About,
			strings.ToLower(r.Fix[:1])+r.Fix[1:])
	}
	return page.String()
}
