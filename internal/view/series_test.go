package view_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/view"
)

// trial is two metrics: one that rises until it is too high, with an error in between, and one without numbers.
func trial(measurements int) view.Trial {
	errors := view.Series{Name: "errors", Every: 10 * time.Second}
	for i := range measurements {
		value := 0.05 + 0.05*math.Sin(float64(i)/6)
		phase, text := v1alpha1.AnalysisPhaseSuccessful, fmt.Sprintf("[%.4f]", value)
		switch {
		case i%25 == 20:
			value, phase, text = math.NaN(), v1alpha1.AnalysisPhaseError, ""
		case value > 0.08:
			phase = v1alpha1.AnalysisPhaseFailed
		}
		errors.Add(value, text, "query `sum(rate(errors[5m]))` at http://prometheus", view.AnalysisStatus(phase, ""))
	}
	health := view.Series{Name: "health", Every: time.Minute}
	health.Add(math.NaN(), "{\"ok\":\"\x1b[31mno\"}", "GET http://shop/health", view.AnalysisStatus(v1alpha1.AnalysisPhaseInconclusive, "value meets neither condition"))
	return view.Trial{Series: []view.Series{errors, health, {Name: "latency", Every: time.Minute}}}
}

func TestSeries(t *testing.T) {
	for name, o := range map[string]view.TextOptions{
		"80": {Width: 80}, "40": {Width: 40}, "pipe": {}, "80-height-12": {Width: 80, Height: 12}, "80-height-8": {Width: 80, Height: 8}, "80-height-4": {Width: 80, Height: 4},
		"60-colors": {Width: 60, Height: 12, Colors: true},
	} {
		golden(t, "series-"+name+".txt", trial(90).Text(o))
	}
	golden(t, "series-first.txt", trial(1).Text(view.TextOptions{Width: 80})+trial(3).Summary()+"\n")
}

// TestSeriesOfAllNumbers: no value breaks the chart.
func TestSeriesOfAllNumbers(t *testing.T) {
	s := view.Series{Name: "m"}
	for _, v := range []float64{math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 0, math.SmallestNonzeroFloat64} {
		s.Add(v, fmt.Sprint(v), "", view.AnalysisStatus(v1alpha1.AnalysisPhaseSuccessful, ""))
	}
	want := `m  ✔ Successful  5e-324  7 × every 0s
   1.798e+308 ┤█    ▁▁
  -1.798e+308 ┤█▁···██
`
	if got := (view.Trial{Series: []view.Series{s}}).Text(view.TextOptions{Width: 40, Height: 3}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if n := (view.Trial{Series: []view.Series{s, {Name: "not measured"}}}).Unsuccessful(); n != 1 {
		t.Errorf("%d are not successful, want 1", n)
	}
}
