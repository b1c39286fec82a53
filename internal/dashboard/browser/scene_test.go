package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// scene is a shop whose Rollouts are in the states that people open the dashboard for.
const scene = `
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: success-rate}
spec:
  metrics:
    - {name: success-rate, interval: 1s, successCondition: result >= 0.95, failureLimit: 3, provider: {web: {url: "URL/success", jsonPath: "{$.rate}"}}}
    - {name: latency-p95, interval: 1s, successCondition: result < 400, failureCondition: result > 800, provider: {web: {url: "URL/latency", jsonPath: "{$.ms}"}}}
---
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: error-rate}
spec:
  metrics:
    - {name: error-rate, interval: 1s, count: 5, successCondition: result < 0.05, failureLimit: 1, provider: {web: {url: "URL/errors", jsonPath: "{$.rate}"}}}
---
apiVersion: v1
kind: Service
metadata: {name: checkout}
spec: {selector: {app: checkout}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: checkout-preview}
spec: {selector: {app: checkout}, ports: [{port: 80}]}
`

// rollouts of the scene, by name: their strategy.
var rollouts = map[string]string{
	"storefront": `{canary: {analysis: {templates: [{templateName: success-rate}]}, steps: [{setWeight: 20}, {pause: {duration: 1s}}, {setWeight: 40}, {pause: {}}, {setWeight: 80}, {pause: {duration: 10m}}]}}`,
	"payments":   `{canary: {steps: [{setWeight: 25}, {analysis: {templates: [{templateName: error-rate}]}}, {setWeight: 50}, {pause: {}}]}}`,
	"checkout":   `{blueGreen: {activeService: checkout, previewService: checkout-preview, autoPromotionEnabled: false, scaleDownDelaySeconds: 600}}`,
	"search":     `{canary: {steps: [{setWeight: 50}, {pause: {duration: 1s}}]}}`,
	"mail":       `{canary: {steps: [{setWeight: 34}, {pause: {}}]}}`,
	"catalog":    `{canary: {}}`,
}

// setScene brings the Rollouts into their states.
func setScene(t *testing.T) *playtest.Namespace {
	t.Helper()
	ns := playtest.New(t)
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if err := ns.Client.Create(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	ns.Name = shop.Name // what one wants to read in a picture
	ns.StartController()
	var asked atomic.Int64
	metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wave := []float64{0, 3, 1, 4, 2, 5, 3, 1}[asked.Add(1)%8]
		body := map[string]string{
			"/success": fmt.Sprintf(`{"rate": %.3f}`, .992-wave/250), "/latency": fmt.Sprintf(`{"ms": %.0f}`, 212+wave*23), "/errors": fmt.Sprintf(`{"rate": %.3f}`, .112+wave/100),
		}[r.URL.Path]
		_, _ = w.Write([]byte(body)) // the controller asks again
	}))
	t.Cleanup(metrics.Close)
	file := filepath.Join(t.TempDir(), "scene.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(scene, "URL", metrics.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	ns.Apply(file)
	for name, strategy := range rollouts {
		ns.CreateRollout(fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: %[1]s, labels: {team: shop}}
spec:
  replicas: 5
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: %[1]s, image: "registry.example.com/shop/%[1]s:v1.7.0"}]}
  strategy: %[2]s
`, name, strategy))
	}
	for name := range rollouts {
		ns.WaitForRollout(name, "to be Healthy", playtest.Healthy)
	}
	for name, tag := range map[string]string{"storefront": "v1.8.0", "payments": "v1.8.0", "checkout": "v2.0.0", "search": "v1.7.1", "mail": "bad"} {
		ns.SetImage(name, "registry.example.com/shop/"+name+":"+tag)
	}
	ns.WaitForRollout("storefront", "to pause", playtest.AtStep(3))
	ns.WaitForRollout("payments", "to be aborted", playtest.Degraded)
	ns.WaitForRollout("checkout", "to pause", playtest.Paused)
	ns.WaitForRollout("search", "to be Healthy", playtest.Healthy)
	ns.WaitForPods("a pod without its image", func(pods []corev1.Pod) bool {
		for i := range pods {
			for _, c := range pods[i].Status.ContainerStatuses {
				if c.State.Waiting != nil && strings.Contains(c.State.Waiting.Reason, "Image") {
					return true
				}
			}
		}
		return false
	})
	ns.WaitUntil("eight measurements", func() error {
		for _, run := range ns.AnalysisRuns() {
			if strings.HasPrefix(run.Name, "storefront") && len(run.Status.MetricResults) == 2 && run.Status.MetricResults[0].Count >= 8 {
				return nil
			}
		}
		return fmt.Errorf("there are fewer")
	})
	return ns
}
