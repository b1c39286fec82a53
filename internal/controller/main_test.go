package controller_test

import (
	"fmt"
	"testing"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

func TestMain(m *testing.M) {
	playtest.Main(m, playtest.WithGatewayAPI, playtest.WithRouters, playtest.WithIstio, playtest.WithExternalMetric)
}

// canary is a Rollout named web; strategy is the YAML below spec.strategy.canary.
func canary(replicas int, strategy string) string {
	return fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "nginx:1"}]
  strategy:
    canary: %s
`, replicas, strategy)
}

const resume = `{"status":{"pauseConditions":null}}`
