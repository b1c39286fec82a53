package plugin_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// The test binary is its own plugin: started by a host, it serves.
func TestMain(m *testing.M) {
	switch kind := plugin.Kind(os.Getenv("ARGO_ROLLOUTS_RPC_PLUGIN")); {
	case kind == "":
		os.Exit(m.Run())
	case slices.Contains(os.Args, "rubbish"):
		fmt.Println("<html>not found</html>")
		time.Sleep(time.Hour)
	case slices.Contains(os.Args, "endless"):
		for {
			_, _ = os.Stdout.WriteString(strings.Repeat("x", 1<<16))
		}
	case slices.Contains(os.Args, "older"):
		serveOlder(kind)
	case kind == plugin.MetricProvider:
		plugin.ServeMetric(child{})
	}
}

// child does what the name of the metric says.
type child struct{}

func (child) Init() error {
	if slices.Contains(os.Args, "refuses") {
		return errors.New("no token for the metrics server")
	}
	return nil
}

func (child) Run(run *v1alpha1.AnalysisRun, m v1alpha1.Metric) v1alpha1.Measurement {
	out := v1alpha1.Measurement{Phase: v1alpha1.AnalysisPhaseSuccessful, Value: run.Namespace + "/" + run.Name}
	switch m.Name {
	case "hangs":
		time.Sleep(time.Hour)
	case "crashes":
		os.Exit(3)
	case "huge":
		out.Value = strings.Repeat("x", 64<<20)
	case "settings":
		out.Value = string(m.Provider.Plugin["example/metric"])
	case "environment":
		out.Value = strings.Join(os.Environ(), "\n")
	case "prints":
		fmt.Println("this is on stdout")
		fmt.Fprintln(os.Stderr, "this is on stderr")
	case "running":
		at := metav1.NewTime(time.Unix(1_800_000_000, 0))
		out.Phase, out.ResumeAt, out.Metadata = v1alpha1.AnalysisPhaseRunning, &at, map[string]string{"job": "7"}
	case "pid":
		out.Value = fmt.Sprint(os.Getpid())
	}
	return out
}

func (child) Resume(_ *v1alpha1.AnalysisRun, _ v1alpha1.Metric, begun v1alpha1.Measurement) v1alpha1.Measurement {
	begun.Phase = v1alpha1.AnalysisPhaseFailed
	return begun
}

func (child) Terminate(_ *v1alpha1.AnalysisRun, _ v1alpha1.Metric, begun v1alpha1.Measurement) v1alpha1.Measurement {
	begun.Message = "ended"
	return begun
}

func (child) GarbageCollect(_ *v1alpha1.AnalysisRun, _ v1alpha1.Metric, limit int) error {
	return fmt.Errorf("%d are kept", limit)
}

func (child) GetMetadata(m v1alpha1.Metric) map[string]string { return map[string]string{"of": m.Name} }
