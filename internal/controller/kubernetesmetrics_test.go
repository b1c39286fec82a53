package controller_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// TestAnExternalMetricOfKubernetes reads a metric with the rights that the install manifests offer. What serves it has the paths and answers
// of an adapter: objects of a CRD in the API's group, each with a value.
func TestAnExternalMetricOfKubernetes(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	setExternalMetric(t, ns, "1500m")
	setExternalMetric(t, ns.Neighbor(), "9000")
	ns.StartController()
	createRun(t, ns, "run", `
metrics:
  - name: queue
    successCondition: len(result) == 1 && result[0] == 1.5
    provider: {kubernetes: {metric: queuedepth, selector: queue=orders}}
`)
	run := ns.WaitForAnalysisRun("run", "to end", hasEnded)
	if measured := run.Status.MetricResults[0].Measurements[0]; run.Status.Phase != v1alpha1.AnalysisPhaseSuccessful || measured.Value != "[1.5]" {
		t.Errorf("it ended %s: %s: %+v", run.Status.Phase, run.Status.Message, measured)
	}
	createRun(t, ns, "unserved", `
metrics:
  - name: requests
    consecutiveErrorLimit: 0
    provider: {kubernetes: {metric: requests, pods: app=shop}}
`)
	run = ns.WaitForAnalysisRun("unserved", "to end", hasEnded)
	if run.Status.Phase != v1alpha1.AnalysisPhaseError || !strings.Contains(run.Status.Message, "the cluster does not serve custom.metrics.k8s.io/v1beta2: install an adapter") {
		t.Errorf("it ended %s: %s", run.Status.Phase, run.Status.Message)
	}
}

func setExternalMetric(t *testing.T, ns *playtest.Namespace, value string) {
	t.Helper()
	createObject(t, ns, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "external.metrics.k8s.io/v1beta1", "kind": "ExternalMetricValue",
		"metadata":   map[string]any{"name": "sample", "namespace": ns.Name, "labels": map[string]any{"queue": "orders"}},
		"metricName": "queuedepth", "value": value,
	}})
}
