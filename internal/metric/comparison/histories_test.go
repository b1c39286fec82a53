package comparison_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/comparison"
	"github.com/sluice-delivery/sluice/internal/sim"
)

const (
	// sampling is how often the fake server scrapes the pods, least how many values of each version a verdict needs.
	sampling = 5 * time.Second
	least    = 8
	longest  = 10 * time.Minute
)

// The images of the two versions, which are queries too: each asks for the errors of its version.
const (
	baseline = "web:stable"
	canary   = "web:canary"
)

// factors are how many errors a canary has, as a multiple of the baseline's, and whether that is bad.
var factors = []struct {
	errors float64
	want   v1alpha1.AnalysisPhase
}{{1, v1alpha1.AnalysisPhaseSuccessful}, {3, v1alpha1.AnalysisPhaseFailed}, {0.3, v1alpha1.AnalysisPhaseSuccessful}}

// subject is what compares, and what counts the measurements.
type subject struct {
	compare func(context.Context, metric.Request, time.Time, string, comparison.Ask) (metric.Reading, error)
	next    func(measure.Observed) measure.Plan
}

var sound = subject{comparison.Measure, measure.Next}

// history is an Experiment of a stable version and a canary, compared while pods come and go and the server fails now and then.
type history struct {
	*rand.Rand
	world   *sim.World
	subject subject
	factor  int
	samples map[string][]sample
	faults  []string
	// came is what came of each measurement, by when it began.
	came map[time.Time]v1alpha1.AnalysisPhase
	// judged are how many measurements ended in each phase.
	judged map[v1alpha1.AnalysisPhase]int
}

type sample struct {
	at    time.Time
	value float64
}

func play(seed uint64, s subject) *history {
	h := &history{
		Rand: rand.New(rand.NewPCG(seed, 22)), subject: s, factor: int(seed) % len(factors),
		samples: map[string][]sample{}, judged: map[v1alpha1.AnalysisPhase]int{}, came: map[time.Time]v1alpha1.AnalysisPhase{},
	}
	h.world = sim.New(sim.Options{Rand: rand.New(rand.NewPCG(seed, 23)), PodStart: time.Duration(1+h.IntN(10)) * time.Second})
	h.world.PutTemplates(analysis.Templates{{TemplateName: "compared"}: {Metrics: []v1alpha1.Metric{compared()}}})
	h.world.ControlExperiments(&sim.ExperimentController{})
	h.world.Analyse(&sim.AnalysisController{Next: s.next, Providers: []string{"prometheus"}, Measure: h.measure})
	h.world.CreateExperiment(versions())
	for h.world.Elapsed() < longest {
		h.world.Run(h.world.Now().Add(sampling))
		h.scrape()
		if h.IntN(8) == 0 {
			h.disturb()
		}
	}
	h.checkEnd()
	return h
}

// compared is the metric: it counts as bad when the canary has more errors.
func compared() v1alpha1.Metric {
	return v1alpha1.Metric{
		Name: "errors", InitialDelay: "40s", Interval: "20s", Count: new(intstr.FromInt32(3)), InconclusiveLimit: new(intstr.FromInt32(1)),
		Provider: v1alpha1.MetricProvider{Prometheus: &v1alpha1.PrometheusMetric{Address: "http://test"}},
		Comparison: &v1alpha1.Comparison{
			Window: "1m", Step: v1alpha1.DurationString(sampling.String()), MinSamples: new(int32(least)),
			Signals: []v1alpha1.ComparisonSignal{{Name: "errors", Canary: canary, Baseline: baseline, Direction: v1alpha1.ComparisonIncrease}},
		},
	}
}

// versions is the Experiment.
func versions() *v1alpha1.Experiment {
	ex := &v1alpha1.Experiment{}
	ex.Name, ex.Namespace = "both", sim.Home
	ex.Spec.ProgressDeadlineSeconds = new(int32(300))
	for name, image := range map[string]string{"baseline": baseline, "canary": canary} {
		like := sim.NewRollout("web-"+name, image, 1)
		ex.Spec.Templates = append(ex.Spec.Templates, v1alpha1.TemplateSpec{Name: name, Replicas: new(int32(2)), Selector: like.Spec.Selector, Template: like.Spec.Template})
	}
	slices.SortFunc(ex.Spec.Templates, func(a, b v1alpha1.TemplateSpec) int { return len(b.Name) - len(a.Name) })
	ex.Spec.Analyses = []v1alpha1.ExperimentAnalysisTemplateRef{{Name: "compared", TemplateName: "compared", RequiredForCompletion: true}}
	return ex
}

// scrape takes a value of each version that has a ready pod.
func (h *history) scrape() {
	now := h.world.Now()
	for _, image := range []string{baseline, canary} {
		value := 100 + 4*h.Float64()
		if image == canary {
			value *= factors[h.factor].errors
		}
		if slices.ContainsFunc(h.world.PodObjects(), func(p *corev1.Pod) bool { return p.Spec.Containers[0].Image == image && isReady(p) }) {
			h.samples[image] = append(h.samples[image], sample{now, value})
		}
	}
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
}

// disturb has pods of one version go.
func (h *history) disturb() {
	image := []string{baseline, canary}[h.IntN(2)]
	switch h.IntN(4) {
	case 0:
		h.world.Kill(image, 1+h.IntN(2))
	case 1:
		h.world.Unready(image, 2, time.Duration(h.IntN(60))*time.Second)
	case 2:
		h.world.SetFate(image, sim.Fate{Broken: true})
		h.world.Kill(image, 2)
	case 3:
		h.world.SetFate(image, sim.Fate{Start: time.Second})
	}
}

// window are the values of a version in a time.
func (h *history) window(image string, w comparison.Window) (values []float64) {
	for _, s := range h.samples[image] {
		if !s.at.Before(w.Start) && !s.at.After(w.End) {
			values = append(values, s.value)
		}
	}
	return values
}

// measure compares as a provider does, and holds what comes of it against what was the case.
func (h *history) measure(t measure.Task) sim.Measurement {
	m := sim.Measurement{Takes: []time.Duration{0, 200 * time.Millisecond, 3 * time.Second}[h.IntN(3)]}
	fails := h.IntN(10) == 0
	reading, err := h.subject.compare(context.Background(), t.Request, h.world.Now(), "http://test", func(_ context.Context, query string, w comparison.Window) ([][]float64, error) {
		if fails {
			return nil, errors.New("the server is overloaded")
		}
		if values := h.window(query, w); len(values) > 0 {
			return [][]float64{values}, nil
		}
		return nil, nil
	})
	m.Reading = reading
	if err != nil {
		m.Err, reading.Phase = err.Error(), v1alpha1.AnalysisPhaseError
	}
	h.came[h.world.Now().Truncate(time.Second)] = reading.Phase
	if (err != nil) != fails {
		h.fault("a measurement ended with error %v", err)
	}
	if want := h.truth(t.Run.StartedAt); err == nil && reading.Phase != want {
		h.fault("a measurement of a canary with %g times the errors is %s (%s), want %s", factors[h.factor].errors, reading.Phase, reading.Message, want)
	}
	return m
}

// truth is what a measurement must come to: a verdict from the values since the run began, and none where a version has too few.
func (h *history) truth(began time.Time) v1alpha1.AnalysisPhase {
	w := comparison.Window{Start: h.world.Now().Add(-time.Minute), End: h.world.Now()}
	if w.Start.Before(began) {
		w.Start = began
	}
	if min(len(h.window(canary, w)), len(h.window(baseline, w))) < least {
		return v1alpha1.AnalysisPhaseInconclusive
	}
	return factors[h.factor].want
}

// checkEnd holds the run and the Experiment against what was measured.
func (h *history) checkEnd() {
	for _, run := range h.world.Runs() {
		for _, result := range run.Status.MetricResults {
			successes := 0
			for _, m := range result.Measurements {
				h.judged[m.Phase]++
				if came := h.came[m.StartedAt.Time]; m.Phase != came {
					h.fault("a measurement that was %s counts as %s", came, m.Phase)
				}
				if m.Phase == v1alpha1.AnalysisPhaseSuccessful {
					successes++
				}
				if m.Phase == v1alpha1.AnalysisPhaseFailed && run.Status.Phase != v1alpha1.AnalysisPhaseFailed {
					h.fault("a run with a failed comparison is %s", run.Status.Phase)
				}
			}
			if run.Status.Phase == v1alpha1.AnalysisPhaseSuccessful && successes < 2 { // one of three may be inconclusive
				h.fault("a run with %d successful comparisons is Successful", successes)
			}
		}
		ex := h.world.Experiments()[0]
		if analysis.Ended(ex.Status.Phase) && run.Status.Phase != ex.Status.Phase && ex.Status.Phase == v1alpha1.AnalysisPhaseSuccessful {
			h.fault("the Experiment is Successful, and its run %s", run.Status.Phase)
		}
	}
}

func (h *history) fault(format string, args ...any) {
	h.faults = append(h.faults, h.world.Elapsed().String()+" "+fmt.Sprintf(format, args...))
}

// TestHistoriesOfComparisons: whatever becomes of the pods, a canary is judged by what both versions did while the run lasted, and not at all if that
// is too little.
func TestHistoriesOfComparisons(t *testing.T) {
	judged := map[v1alpha1.AnalysisPhase]int{}
	for seed := range uint64(600) {
		h := play(seed, sound)
		for phase, n := range h.judged {
			judged[phase] += n
		}
		if len(h.faults) > 0 {
			t.Fatalf("seed %d: %s", seed, h.faults[0])
		}
	}
	for _, phase := range []v1alpha1.AnalysisPhase{
		v1alpha1.AnalysisPhaseSuccessful, v1alpha1.AnalysisPhaseFailed, v1alpha1.AnalysisPhaseInconclusive, v1alpha1.AnalysisPhaseError,
	} {
		if judged[phase] < 50 {
			t.Errorf("%d measurements were %s: the histories do not come by such", judged[phase], phase)
		}
	}
}

// alters is a comparison that reads what is written as something else.
func alters(change func(*v1alpha1.Comparison)) subject {
	return subject{func(ctx context.Context, r metric.Request, now time.Time, place string, ask comparison.Ask) (metric.Reading, error) {
		r.Metric.Comparison = r.Metric.Comparison.DeepCopy()
		change(r.Metric.Comparison)
		return comparison.Measure(ctx, r, now, place, ask)
	}, measure.Next}
}

// mutants are comparisons with a fault, each of which histories must show.
var mutants = map[string]subject{
	"takes no data for a pass":                        alters(func(c *v1alpha1.Comparison) { c.Signals[0].WhenNoData = v1alpha1.ComparisonNoDataSuccessful }),
	"judges by fewer values":                          alters(func(c *v1alpha1.Comparison) { c.MinSamples = new(int32(5)) }),
	"does not ask in which direction a change is bad": alters(func(c *v1alpha1.Comparison) { c.Signals[0].Direction = v1alpha1.ComparisonEither }),
	"compares the baseline with the canary": alters(func(c *v1alpha1.Comparison) {
		c.Signals[0].Canary, c.Signals[0].Baseline = c.Signals[0].Baseline, c.Signals[0].Canary
	}),
	"tolerates every difference": alters(func(c *v1alpha1.Comparison) { c.Signals[0].Tolerance = "1000%" }),
	"takes an error of the server for no data": {func(ctx context.Context, r metric.Request, now time.Time, place string, ask comparison.Ask) (metric.Reading, error) {
		return comparison.Measure(ctx, r, now, place, func(ctx context.Context, query string, w comparison.Window) ([][]float64, error) {
			series, err := ask(ctx, query, w)
			if err != nil {
				return nil, nil
			}
			return series, nil
		})
	}, measure.Next},
	"counts what is open as passed": {comparison.Measure, func(o measure.Observed) measure.Plan {
		o.Results = slices.Clone(o.Results)
		for i := range o.Results {
			if o.Results[i].Reading.Phase == v1alpha1.AnalysisPhaseInconclusive {
				o.Results[i].Reading.Phase = v1alpha1.AnalysisPhaseSuccessful
			}
		}
		return measure.Next(o)
	}},
}

// TestMutantsAreFound proves that the histories can tell.
func TestMutantsAreFound(t *testing.T) {
	for name, mutant := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(600) {
				if h := play(seed, mutant); len(h.faults) > 0 {
					t.Logf("found by seed %d: %s", seed, h.faults[0])
					return
				}
			}
			t.Error("nothing is wrong with it")
		})
	}
}
