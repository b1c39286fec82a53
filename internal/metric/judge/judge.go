package judge

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// Direction is which change of a signal is bad.
type Direction string

// The directions.
const (
	Increase Direction = "Increase"
	Decrease Direction = "Decrease"
	Either   Direction = "Either"
)

// NoData is how a signal counts that has too few samples.
type NoData string

// The policies for signals that have too few samples.
const (
	Passes    NoData = "Successful"
	Fails     NoData = "Failed"
	Undecided NoData = "Inconclusive"
	Ignored   NoData = "Ignored"
)

// Rules are how one signal is judged.
type Rules struct {
	Name, Group string
	Direction   Direction
	// Critical: if the signal fails, the score is 0.
	Critical bool
	// Confidence is how certain a difference must be, between 0 and 1.
	Confidence float64
	Tolerance  Tolerance
	// MinSamples is how many samples each side must have.
	MinSamples int
	NoData     NoData
}

// Tolerance is the largest difference between the means that is not bad. The larger of the two counts.
type Tolerance struct {
	// Ratio is relative to the baseline's mean.
	Ratio float64
	// Absolute is in the unit of the signal.
	Absolute float64
}

// Signal is what was measured of both versions.
type Signal struct {
	Rules
	Canary, Baseline []float64
}

// Outcome is how a signal did.
type Outcome string

// The outcomes of a signal.
const (
	Pass    Outcome = "pass"
	High    Outcome = "high" // the canary's values are higher, and that is bad
	Low     Outcome = "low"  // the canary's values are lower, and that is bad
	Missing Outcome = "no data"
)

// Sample sums up one side of a signal.
type Sample struct {
	N    int
	Mean float64
}

// Result is how a signal was judged.
type Result struct {
	Rules
	Outcome          Outcome
	Canary, Baseline Sample
	// P is the probability of a difference at least as bad by chance, if the versions behave alike.
	P float64
	// Superiority is the effect size of Vargha and Delaney: the probability that a value of the canary is higher than one of the
	// baseline. It is 0.5 if they behave alike.
	Superiority float64
}

// Fails reports whether the signal counts against the canary.
func (r Result) Fails() bool {
	return r.Outcome == High || r.Outcome == Low || r.Outcome == Missing && r.NoData == Fails
}

// counts reports whether the signal is part of the score.
func (r Result) counts() bool { return r.Outcome != Missing || r.NoData == Passes || r.NoData == Fails }

// Judge judges one signal. Values that are not finite are left out.
func Judge(s Signal) Result {
	canary, baseline := finite(s.Canary), finite(s.Baseline)
	r := Result{Rules: s.Rules, Outcome: Pass, Canary: sample(canary), Baseline: sample(baseline), P: 1, Superiority: 0.5}
	if min(r.Canary.N, r.Baseline.N) < max(1, s.MinSamples) {
		r.Outcome = Missing
		return r
	}
	higher, lower, superiority := compare(canary, baseline)
	r.Superiority = superiority
	difference := r.Canary.Mean - r.Baseline.Mean
	tolerated := max(s.Tolerance.Absolute, s.Tolerance.Ratio*math.Abs(r.Baseline.Mean))
	switch s.Direction {
	case Increase:
		r.P = higher
	case Decrease:
		r.P = lower
	case Either: // two tests, so each must be twice as certain
		r.P = min(1, 2*min(higher, lower))
	}
	certain := r.P <= 1-s.Confidence
	switch {
	case certain && s.Direction != Decrease && higher <= lower && difference > tolerated:
		r.Outcome = High
	case certain && s.Direction != Increase && lower <= higher && -difference > tolerated:
		r.Outcome = Low
	}
	return r
}

// compare returns the probabilities that a sample is by chance as high as the canary's, and as low, and how likely a value of the canary is
// higher than one of the baseline.
func compare(canary, baseline []float64) (higher, lower, superiority float64) {
	below, err := stats.MannWhitneyUTest(canary, baseline, stats.LocationLess)
	if err != nil { // all values are equal
		return 1, 1, 0.5
	}
	// The other tail is the same test with the samples swapped: with ties, the library's own is wider than it has to be.
	above, err := stats.MannWhitneyUTest(baseline, canary, stats.LocationLess)
	if err != nil {
		return 1, 1, 0.5
	}
	return above.P, below.P, below.U / float64(len(canary)*len(baseline))
}

func finite(values []float64) []float64 {
	out := make([]float64, 0, len(values))
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out = append(out, v)
		}
	}
	return out
}

func sample(values []float64) Sample {
	s := Sample{N: len(values)}
	for i, v := range values {
		s.Mean += (v - s.Mean) / float64(i+1) // a sum could overflow
	}
	return s
}
