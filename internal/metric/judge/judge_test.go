package judge

import (
	"fmt"
	"math"
	"testing"
)

// samples are a canary of n values, which are higher than u values of a baseline of m values altogether.
func samples(n, m, u int) (canary, baseline []float64) {
	for i := range m {
		baseline = append(baseline, float64(10*(i+1)))
	}
	for i := range n {
		higher := min(m, u)
		u -= higher
		canary = append(canary, float64(10*higher)+1+float64(i)/float64(n))
	}
	return canary, baseline
}

// TestProbabilitiesOfMannAndWhitney: table I of H. B. Mann and D. R. Whitney, "On a Test of Whether one of Two Random Variables is
// Stochastically Larger than the Other", Annals of Mathematical Statistics 18 (1947), for n = m = 5.
func TestProbabilitiesOfMannAndWhitney(t *testing.T) {
	for u, want := range []float64{.004, .008, .016, .028, .048, .075, .111, .155, .210, .274, .345, .421, .500} {
		canary, baseline := samples(5, 5, u)
		_, lower, superiority := compare(canary, baseline)
		higher, _, _ := compare(baseline, canary)
		if math.Abs(lower-want) > .0005 || math.Abs(higher-want) > .0005 || superiority != float64(u)/25 {
			t.Errorf("U = %d: %.4f, %.4f and superiority %.2f, want %.3f", u, lower, higher, superiority, want)
		}
	}
}

// TestCriticalValues: the largest U that is significant, from table K of S. Siegel, "Nonparametric Statistics for the Behavioral Sciences"
// (1956), which is D. Auble's (1953): one-tailed at 0.025 and 0.005, for n = m.
func TestCriticalValues(t *testing.T) {
	for n, critical := range map[int]map[float64]int{
		10: {.025: 23, .005: 16},
		15: {.025: 64, .005: 51},
		20: {.025: 127, .005: 105},
	} {
		for alpha, u := range critical {
			canary, baseline := samples(n, n, u)
			if _, p, _ := compare(canary, baseline); p > alpha {
				t.Errorf("n = %d, U = %d: %.5f, want at most %.3f", n, u, p, alpha)
			}
			canary, baseline = samples(n, n, u+1)
			if _, p, _ := compare(canary, baseline); p <= alpha {
				t.Errorf("n = %d, U = %d: %.5f, want more than %.3f", n, u+1, p, alpha)
			}
		}
	}
}

// TestPermeability: the example of M. Hollander and D. A. Wolfe, "Nonparametric Statistical Methods" (1973), page 69, which the page of R's
// wilcox.test shows with W = 35 and p = 0.1272.
func TestPermeability(t *testing.T) {
	x := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	y := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	if p, _, superiority := compare(x, y); math.Abs(p-.1272) > .00005 || superiority != .7 {
		t.Errorf("p %.4f, superiority %.2f; want 0.1272 and 0.70", p, superiority)
	}
}

// TestTiesAreExact: with ties, each way to divide the values into two samples is equally likely, which is counted here.
func TestTiesAreExact(t *testing.T) {
	for _, all := range [][]float64{
		{0, 0, 0, 0, 0, 0, 0, 1, 1, 1},
		{1, 2, 2, 3, 3, 3, 4, 4, 4, 4},
		{5, 5, 5, 5, 5, 7, 7, 7, 9, 9},
	} {
		statistic := func(chosen int) (u float64, canary, baseline []float64) {
			for i, v := range all {
				if chosen>>i&1 == 1 {
					canary = append(canary, v)
				} else {
					baseline = append(baseline, v)
				}
			}
			for _, c := range canary {
				for _, b := range baseline {
					if c > b {
						u++
					} else if c == b {
						u += .5
					}
				}
			}
			return u, canary, baseline
		}
		for _, chosen := range []int{0b0000011111, 0b1111100000, 0b1010101010, 0b1110000011} {
			u, canary, baseline := statistic(chosen)
			ways, above, below := 0., 0., 0.
			for other := range 1 << len(all) {
				if v, c, _ := statistic(other); len(c) == len(canary) {
					ways++
					if v >= u {
						above++
					}
					if v <= u {
						below++
					}
				}
			}
			higher, lower, _ := compare(canary, baseline)
			if math.Abs(higher-above/ways) > 1e-9 || math.Abs(lower-below/ways) > 1e-9 {
				t.Errorf("%v against %v: %.6f and %.6f, want %.6f and %.6f", canary, baseline, higher, lower, above/ways, below/ways)
			}
		}
	}
}

func around(center float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = center * (1 + .001*float64(i-n/2))
	}
	return out
}

func TestSignals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		rules            Rules
		canary, baseline []float64
		want             Outcome
	}{
		"alike":                                      {Rules{Direction: Either}, around(5, 10), around(5, 10), Pass},
		"higher, where that is bad":                  {Rules{Direction: Increase}, around(8, 10), around(5, 10), High},
		"higher, where any change is bad":            {Rules{Direction: Either}, around(8, 10), around(5, 10), High},
		"higher, where that is good":                 {Rules{Direction: Decrease}, around(8, 10), around(5, 10), Pass},
		"lower, where that is bad":                   {Rules{Direction: Decrease}, around(3, 10), around(5, 10), Low},
		"lower, where any change is bad":             {Rules{Direction: Either}, around(3, 10), around(5, 10), Low},
		"lower, where that is good":                  {Rules{Direction: Increase}, around(3, 10), around(5, 10), Pass},
		"higher by less than is tolerated":           {Rules{Direction: Increase, Tolerance: Tolerance{Ratio: .7}}, around(8, 10), around(5, 10), Pass},
		"higher by less than is tolerated, in units": {Rules{Direction: Increase, Tolerance: Tolerance{Absolute: 3.5}}, around(8, 10), around(5, 10), Pass},
		"a baseline of zeros":                        {Rules{Direction: Increase, Tolerance: Tolerance{Ratio: .1}}, around(.01, 10), make([]float64, 10), High},
		"both zero":                                  {Rules{Direction: Increase}, make([]float64, 10), make([]float64, 10), Pass},
		"negative values":                            {Rules{Direction: Decrease, Tolerance: Tolerance{Ratio: .1}}, around(-8, 10), around(-5, 10), Low},
		"too few of the canary":                      {Rules{}, around(8, 4), around(5, 10), Missing},
		"too few of the baseline":                    {Rules{}, around(8, 10), around(5, 4), Missing},
		"none":                                       {Rules{}, nil, nil, Missing},
		"what is not finite is no sample":            {Rules{}, append(around(8, 4), nan, inf, -inf, nan, nan), around(5, 10), Missing},
		"what is not finite among others":            {Rules{Direction: Increase}, append(around(8, 10), nan, inf), append(around(5, 10), nan), High},
		"values whose sum is not finite":             {Rules{Direction: Increase}, around(1e308, 10), around(1e308, 10), Pass},
	} {
		c.rules.Confidence, c.rules.MinSamples = .98, 5
		if got := Judge(Signal{Rules: c.rules, Canary: c.canary, Baseline: c.baseline}); got.Outcome != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

func TestScores(t *testing.T) {
	signal := func(group string, canary float64, change func(*Signal)) Signal {
		s := Signal{
			Rules:  Rules{Name: fmt.Sprint(group, canary), Group: group, Direction: Increase, Confidence: .98, MinSamples: 5, NoData: Undecided},
			Canary: around(canary, 10), Baseline: around(5, 10),
		}
		if change != nil {
			change(&s)
		}
		return s
	}
	good := func(group string) Signal { return signal(group, 5, nil) }
	bad := func(group string) Signal { return signal(group, 8, nil) }
	none := func(group string, policy NoData) Signal {
		return signal(group, 5, func(s *Signal) { s.Canary, s.NoData = nil, policy })
	}
	critical := func(s Signal) Signal {
		s.Critical = true
		return s
	}
	for name, c := range map[string]struct {
		signals []Signal
		weights map[string]int
		score   float64
		open    bool
	}{
		"all pass":                       {[]Signal{good(""), good("")}, nil, 100, false},
		"one of three fails":             {[]Signal{good(""), bad(""), good("")}, nil, 200. / 3, false},
		"all fail":                       {[]Signal{bad("")}, nil, 0, false},
		"groups count alike":             {[]Signal{good("a"), good("a"), good("a"), bad("b")}, nil, 50, false},
		"groups count by their weights":  {[]Signal{good("a"), bad("b")}, map[string]int{"a": 3}, 75, false},
		"a group without weight":         {[]Signal{good("a"), bad("b")}, map[string]int{"b": 0}, 100, false},
		"a critical signal fails":        {[]Signal{good(""), good(""), critical(bad(""))}, nil, 0, false},
		"a critical signal passes":       {[]Signal{bad(""), critical(good(""))}, nil, 50, false},
		"no data leaves it open":         {[]Signal{good(""), none("", Undecided)}, nil, 100, true},
		"critical, whatever has no data": {[]Signal{critical(bad("")), none("", Undecided)}, nil, 0, false},
		"no data that counts as passed":  {[]Signal{bad(""), none("", Passes)}, nil, 50, false},
		"no data that counts as failed":  {[]Signal{good(""), none("", Fails)}, nil, 50, false},
		"no data that is ignored":        {[]Signal{good("a"), none("b", Ignored)}, map[string]int{"b": 9}, 100, false},
		"nothing but ignored":            {[]Signal{none("", Ignored)}, nil, 0, true},
		"a critical signal without data": {[]Signal{good(""), critical(none("", Fails))}, nil, 0, false},
		"a critical signal that is open": {[]Signal{good(""), critical(none("", Undecided))}, nil, 100, true},
		"a critical signal that is out":  {[]Signal{good(""), critical(none("", Ignored))}, nil, 100, false},
		"nothing to compare":             {nil, nil, 0, true},
	} {
		if got := All(c.signals, c.weights); math.Abs(got.Score-c.score) > 1e-9 || got.Open() != c.open {
			t.Errorf("%s: score %.1f, open %t; want %.1f, %t", name, got.Score, got.Open(), c.score, c.open)
		}
	}
}

// FuzzJudge: whatever is measured, there is a verdict, it does not depend on the order of the values, and the sides mirror each other.
func FuzzJudge(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5}, []byte{5, 4, 3, 2, 1})
	f.Add([]byte{0, 0, 0, 0, 255}, []byte{255, 254, 0})
	f.Fuzz(func(t *testing.T, canary, baseline []byte) {
		values := func(raw []byte) []float64 {
			out := make([]float64, 0, len(raw))
			for _, b := range raw[:min(len(raw), 60)] {
				switch b {
				case 255:
					out = append(out, math.NaN())
				case 254:
					out = append(out, math.Inf(-1))
				default:
					out = append(out, float64(b%16)-8)
				}
			}
			return out
		}
		rules := Rules{Direction: Either, Confidence: .9, MinSamples: 1}
		one := Judge(Signal{Rules: rules, Canary: values(canary), Baseline: values(baseline)})
		other := Judge(Signal{Rules: rules, Canary: values(baseline), Baseline: values(canary)})
		mirrored := map[Outcome]Outcome{High: Low, Low: High, Pass: Pass, Missing: Missing}
		if one.P < 0 || one.P > 1 || math.IsNaN(one.P) || math.Abs(one.P-other.P) > 1e-9 || other.Outcome != mirrored[one.Outcome] {
			t.Errorf("%+v, and with the sides swapped %+v", one, other)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{21, 50, 250} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := Signal{Rules: Rules{Direction: Either, Confidence: .98, MinSamples: 5}, Canary: around(5.001, n), Baseline: around(5, n)}
			for b.Loop() {
				Judge(s)
			}
		})
	}
	b.Run("ties", func(b *testing.B) {
		s := Signal{Rules: Rules{Direction: Either, Confidence: .98, MinSamples: 5}, Canary: make([]float64, 25), Baseline: make([]float64, 25)}
		for i := range 25 {
			s.Canary[i], s.Baseline[i] = float64(i%12), float64(i%13)
		}
		for b.Loop() {
			Judge(s)
		}
	})
}
