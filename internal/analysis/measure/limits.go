package measure

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/pattern"
)

// limits decide when a metric is measured and when it ends.
type limits struct {
	interval, initialDelay time.Duration
	count                  int32 // 0: without end
	failures               int32 // -1: any number
	inconclusive           int32
	errors                 int32 // in a row
	successes              int32 // in a row; 0: not asked for
	kept                   int   // measurements
}

// shortest is the time between two measurements where a metric asks for less: the status keeps whole seconds, and without any time
// between them measuring would do nothing else.
const shortest = time.Second

// mostKeptBytes is how much the measurements of all metrics take: an AnalysisRun whose status does not fit into the API server's storage
// could not go on.
const mostKeptBytes = 512 << 10

// resolveLimits reads the limits of a metric that has been checked.
func resolveLimits(metric *v1alpha1.Metric, retention []v1alpha1.MeasurementRetention) limits {
	l := limits{
		interval:     length(metric.Interval),
		initialDelay: length(metric.InitialDelay),
		count:        number(metric.Count, 0),
		failures:     number(metric.FailureLimit, 0),
		inconclusive: number(metric.InconclusiveLimit, 0),
		errors:       number(metric.ConsecutiveErrorLimit, v1alpha1.DefaultConsecutiveErrorLimit),
		successes:    number(metric.ConsecutiveSuccessLimit, 0),
		kept:         int(v1alpha1.DefaultMeasurementRetention),
	}
	if l.count == 0 && metric.Interval == "" {
		l.count = 1
	}
	if metric.Interval != "" {
		l.interval = max(l.interval, shortest)
	}
	for _, r := range retention {
		if fits(r.MetricName, metric.Name) {
			l.kept = int(min(max(1, r.Limit), v1alpha1.MaxMeasurementRetention)) // the last one says when the next is due
		}
	}
	return l
}

func length(d v1alpha1.DurationString) time.Duration {
	if d == "" {
		return 0
	}
	length, err := d.Duration()
	if err != nil {
		panic(err) // it was checked
	}
	return length
}

func number(v *intstr.IntOrString, otherwise int32) int32 {
	if v == nil {
		return otherwise
	}
	if v.Type == intstr.Int {
		return v.IntVal
	}
	n, err := strconv.ParseInt(v.StrVal, 10, 32)
	if err != nil {
		panic(err) // it was checked
	}
	return int32(n)
}

// fits reports whether a pattern, which was checked, is found in the name of a metric.
func fits(expr, name string) bool {
	expression, err := pattern.Compile(expr)
	return err == nil && expression.MatchString(name)
}
