package controller_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// The attack S6 of the security review, with the permissions of the installation: one namespace queries a server that does not answer with 51
// AnalysisRuns of 100 metrics each, and the AnalysisRun of another namespace is still measured. The controller manages all namespaces, as it is
// installed; an instance ID separates it from the other tests.
func TestATarpitDoesNotStopANeighborsMeasurements(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	hostile := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns.Name + "-hostile"}}
	if err := ns.Client.Create(t.Context(), hostile); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ns.Client.Delete(t.Context(), hostile) })

	var stuck atomic.Int32
	free := make(chan struct{})
	tarpit := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stuck.Add(1)
		select {
		case <-free:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(free); tarpit.Close() })
	ns.StartController("--namespaced=false", "--namespace=", "--instance-id="+ns.Name, "--loglevel=info")

	const runs, metrics, share = 51, 100, 1500
	var spec strings.Builder
	spec.WriteString("metrics:\n")
	for i := range metrics {
		fmt.Fprintf(&spec, "- {name: m%d, provider: {web: {url: %q, timeoutSeconds: 60}}}\n", i, tarpit.URL)
	}
	create := func(namespace, name, spec string) {
		run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, Labels: map[string]string{v1alpha1.InstanceIDLabel: ns.Name},
		}}
		if err := yaml.UnmarshalStrict([]byte(spec), &run.Spec); err != nil {
			t.Fatal(err)
		}
		if err := ns.Client.Create(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	for i := range runs {
		create(hostile.Name, fmt.Sprint("tarpit-", i), spec.String())
	}
	ns.WaitUntil("the namespace to fill its share", func() error {
		if n := stuck.Load(); n < share {
			return fmt.Errorf("%d of %d measurements are in flight", n, share)
		}
		return nil
	})
	g := newGauge(t, "1")
	create(ns.Name, "honest", `{metrics: [{name: a, interval: 1s, count: 2, successCondition: result == 1, provider: {web: {url: "`+g.URL+`"}}}]}`)
	run := ns.WaitForAnalysisRun("honest", "to end", hasEnded)
	if run.Status.Phase != v1alpha1.AnalysisPhaseSuccessful {
		t.Errorf("the neighbor's run ended %s: %s", run.Status.Phase, run.Status.Message)
	}
}
