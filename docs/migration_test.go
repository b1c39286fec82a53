package docs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/lint"
)

// deployment is the one that the examples of the page refer to.
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: app, image: "app:1", ports: [{containerPort: 9898}], readinessProbe: {tcpSocket: {port: 9898}}, lifecycle: {preStop: {sleep: {seconds: 10}}}}]}
`

// The manifests of migration.md are right, by themselves and with the Deployment that they take their template from.
func TestMigrationManifests(t *testing.T) {
	page, err := os.ReadFile("migration.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := yamlBlock.FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of manifests were found, and there were two", len(blocks))
	}
	for i, name := range []string{"podinfo", "web"} {
		result, err := lint.Files(t.Context(), []lint.File{
			{Name: "migration.md", Text: []byte(blocks[i][1])},
			{Name: "deployment.yaml", Text: []byte(strings.ReplaceAll(deployment, "NAME", name))},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if result.Objects < 2 {
			t.Errorf("%s: %d objects", name, result.Objects)
		}
		for _, f := range result.Findings {
			t.Error(f)
		}
	}
}
