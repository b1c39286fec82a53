package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

const (
	// lingering is how long the values of a run that has ended are shown, so that one that ends with its first measurement is scraped.
	lingering = 5 * time.Minute
	// mostValues is how many values of one namespace are shown: anyone who may create AnalysisRuns decides about their number.
	mostValues = 500
)

var metricValue = prometheus.NewDesc("sluice_analysis_metric_value",
	"The last measurement of a metric of an AnalysisRun, if it is one number.", []string{"namespace", "owner_kind", "owner", "metric"}, nil)

// subject is what a value is about. Runs have new names for each update, so their owner stands for them.
type subject struct{ namespace, kind, owner, metric string }

func (s subject) compare(other subject) int {
	return cmp.Or(cmp.Compare(s.namespace, other.namespace), cmp.Compare(s.kind, other.kind), cmp.Compare(s.owner, other.owner), cmp.Compare(s.metric, other.metric))
}

type reported struct {
	at    time.Time
	value float64
}

// collectValues reports the values of the runs that are under way, or ended a moment ago. Of two runs with the same owner and metric it is the
// later measurement.
func collectValues(out chan<- prometheus.Metric, runs []v1alpha1.AnalysisRun, now time.Time) {
	values := map[subject]reported{}
	for i := range runs {
		run := &runs[i]
		if ended := run.Status.CompletedAt; ended == nil && !underWay(run.Status.Phase) || ended != nil && now.Sub(ended.Time) > lingering {
			continue
		}
		about := subject{namespace: run.Namespace}
		if owner := metav1.GetControllerOfNoCopy(run); owner != nil {
			about.kind, about.owner = owner.Kind, owner.Name
		}
		for _, result := range run.Status.MetricResults {
			about.metric = result.Name
			if latest, ok := lastNumber(result.Measurements); ok && !latest.at.Before(values[about].at) {
				values[about] = latest
			}
		}
	}
	shown := map[string]int{}
	for _, about := range slices.SortedFunc(maps.Keys(values), subject.compare) {
		if shown[about.namespace]++; shown[about.namespace] <= mostValues {
			gauge(out, metricValue, values[about].value, about.namespace, about.kind, about.owner, about.metric)
		}
	}
}

func underWay(p v1alpha1.AnalysisPhase) bool {
	return p == "" || p == v1alpha1.AnalysisPhasePending || p == v1alpha1.AnalysisPhaseRunning
}

// lastNumber is the last value that is one number, also where it is alone in a list.
func lastNumber(all []v1alpha1.Measurement) (reported, bool) {
	for _, m := range slices.Backward(all) {
		if m.Value == "" || m.FinishedAt == nil {
			continue
		}
		text := m.Value
		if inner, ok := strings.CutPrefix(text, "["); ok {
			text = strings.TrimSuffix(inner, "]")
		}
		value, err := strconv.ParseFloat(text, 64)
		return reported{at: m.FinishedAt.Time, value: value}, err == nil
	}
	return reported{}, false
}
