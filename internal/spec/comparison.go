package spec

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Defaults of comparisons.
const (
	DefaultComparisonWindow     = 10 * time.Minute
	DefaultComparisonStep       = 30 * time.Second
	DefaultComparisonMinSamples = 10
	DefaultComparisonConfidence = 98
	DefaultComparisonPass       = 75
	DefaultComparisonMarginal   = 50
	DefaultComparisonTolerance  = "10%"
	// MaxComparisonSamples bounds what comparing two series costs.
	MaxComparisonSamples = 250
)

// Comparison is a metric's comparison with defaults.
type Comparison struct {
	Signals      []ComparisonSignal
	Weights      map[string]int
	Window, Step time.Duration
	BeforeRun    bool
	MinSamples   int
	// Confidence is between 0.5 and 1.
	Confidence     float64
	Pass, Marginal int32
}

// ComparisonSignal is a signal with defaults. One of ToleratedRatio and Tolerated is 0.
type ComparisonSignal struct {
	v1alpha1.ComparisonSignal
	ToleratedRatio, Tolerated float64
}

// ComparisonProblems are what is wrong with the comparison of a metric, as far as it does not depend on the values of arguments.
func ComparisonProblems(m *v1alpha1.Metric) []string {
	if m.Comparison == nil {
		return nil
	}
	var all []string
	switch names := m.Provider.Names(); {
	case len(names) != 1:
	case m.Provider.Prometheus == nil:
		all = append(all, fmt.Sprintf("a comparison needs provider prometheus, and %s cannot be queried for series: use prometheus, or conditions", names[0]))
	case m.Provider.Prometheus.Query != "" || m.Provider.Prometheus.RangeQuery != nil:
		all = append(all, "a comparison has its queries in comparison.signals: remove prometheus.query and prometheus.rangeQuery")
	}
	if m.SuccessCondition != "" || m.FailureCondition != "" {
		all = append(all, "a comparison judges by its score: remove successCondition and failureCondition, and set comparison.pass and comparison.marginal")
	}
	resolved, problems := ResolveComparison(m)
	all = append(all, problems...)
	if len(problems) == 0 {
		all = append(all, firstMeasurement(m, resolved)...)
	}
	return all
}

// firstMeasurement finds a first measurement that cannot have enough samples, because the series begin with the run.
func firstMeasurement(m *v1alpha1.Metric, c Comparison) []string {
	if c.BeforeRun || hasArguments(string(m.InitialDelay+m.Comparison.Step)) {
		return nil
	}
	delay, err := cmp.Or(m.InitialDelay, "0s").Duration()
	if err != nil {
		return nil // reported as a problem of initialDelay
	}
	if needed := time.Duration(c.MinSamples-1) * c.Step; delay < needed {
		return []string{fmt.Sprintf("with initialDelay %s the first measurement has less than comparison.minSamples (%d) values of each version: "+
			"set initialDelay to %s or more, or comparison.beforeRun", cmp.Or(m.InitialDelay, "0s"), c.MinSamples, needed)}
	}
	return nil
}

// ResolveComparison fills in the defaults of a comparison. What is left to arguments is taken to be the default.
func ResolveComparison(m *v1alpha1.Metric) (Comparison, []string) {
	c, r := m.Comparison, comparisonReader{}
	signals, step := c.Signals, DefaultComparisonStep
	if m.Golden != "" {
		signals, step = []v1alpha1.ComparisonSignal{goldenComparison(m)}, goldenRange
	}
	out := Comparison{
		Weights: map[string]int{}, BeforeRun: c.BeforeRun,
		Window:     r.duration("window", c.Window, DefaultComparisonWindow),
		Step:       r.duration("step", c.Step, step),
		MinSamples: int(orDefault(c.MinSamples, DefaultComparisonMinSamples)),
		Confidence: r.confidence(c.Confidence),
		Pass:       orDefault(c.Pass, DefaultComparisonPass),
	}
	out.Marginal = orDefault(c.Marginal, min(DefaultComparisonMarginal, out.Pass))
	if out.Marginal > out.Pass {
		r.add("marginal %d is more than pass, which is %d: lower marginal or raise pass", out.Marginal, out.Pass)
	}
	switch {
	case len(r.problems) > 0:
	case out.Window/out.Step > MaxComparisonSamples:
		r.add("window %s has more than %d steps of %s: set a shorter window, or a step of %s or more",
			out.Window, MaxComparisonSamples, out.Step, (out.Window/MaxComparisonSamples).Round(time.Second)+time.Second)
	case int(out.Window/out.Step)+1 < out.MinSamples:
		r.add("window %s has less than minSamples (%d) steps of %s: set a longer window or a shorter step", out.Window, out.MinSamples, out.Step)
	}
	for _, g := range c.Groups {
		out.Weights[g.Name] = int(g.Weight)
	}
	if (len(c.Signals) == 0) == (m.Golden == "") {
		r.add("signals: set signals with the queries canary and baseline, or golden, and not both")
	}
	for _, s := range signals {
		out.Signals = append(out.Signals, r.signal(s))
	}
	return out, r.problems
}

type comparisonReader struct{ problems []string }

func (r *comparisonReader) add(format string, args ...any) {
	r.problems = append(r.problems, "comparison."+fmt.Sprintf(format, args...))
}

func (r *comparisonReader) duration(field string, d v1alpha1.DurationString, otherwise time.Duration) time.Duration {
	if d == "" || hasArguments(string(d)) {
		return otherwise
	}
	length, err := d.Duration()
	if err != nil || length < time.Second {
		r.add(`%s %q is not a length of time of at least 1s: write for example "30s" or "5m"`, field, d)
		return otherwise
	}
	return length
}

func (r *comparisonReader) confidence(v *intstr.IntOrString) float64 {
	if v == nil || hasArguments(v.StrVal) {
		return DefaultComparisonConfidence / 100.
	}
	percent, err := strconv.ParseFloat(v.String(), 64)
	if err != nil || !(percent >= 50 && percent < 100) {
		r.add(`confidence %q is not a percentage of at least 50 and less than 100: write for example 98 or "99.9"`, v.String())
		return DefaultComparisonConfidence / 100.
	}
	return percent / 100
}

func (r *comparisonReader) signal(s v1alpha1.ComparisonSignal) ComparisonSignal {
	out := ComparisonSignal{ComparisonSignal: s}
	out.Direction = cmp.Or(s.Direction, v1alpha1.ComparisonEither)
	out.WhenNoData = cmp.Or(s.WhenNoData, v1alpha1.ComparisonNoDataInconclusive)
	out.Tolerance = cmp.Or(s.Tolerance, DefaultComparisonTolerance)
	if s.Canary == "" || s.Baseline == "" {
		r.add("signals: %q needs the queries canary and baseline", s.Name)
	}
	if hasArguments(out.Tolerance) {
		out.Tolerance = DefaultComparisonTolerance
	}
	number, percent := strings.CutSuffix(out.Tolerance, "%")
	value, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || !(value >= 0 && value < 1e12):
		r.add(`signals: tolerance %q of %q is neither a percentage such as "10%%" nor a number such as "0.005"`, out.Tolerance, s.Name)
	case percent:
		out.ToleratedRatio = value / 100
	default:
		out.Tolerated = value
	}
	return out
}

// Phase is what a score means.
func (c Comparison) Phase(score float64) v1alpha1.AnalysisPhase {
	switch {
	case score >= float64(c.Pass):
		return v1alpha1.AnalysisPhaseSuccessful
	case score >= float64(c.Marginal):
		return v1alpha1.AnalysisPhaseInconclusive
	}
	return v1alpha1.AnalysisPhaseFailed
}

func hasArguments(text string) bool { return strings.Contains(text, "{{") }
