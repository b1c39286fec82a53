package judge

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	_ "github.com/cockroachdb/datadriven" // for its flag -rewrite
)

// ratesPage is where the rates are shown.
const ratesPage = "../../../docs/features/comparison.md"

var ratesTable = regexp.MustCompile(`(?s)<!-- rates -->\n.*?<!-- end of rates -->`)

// release is what is measured of a simulated release, and how it is judged.
type release struct {
	name string
	// worse: the canary is, so that no alarm is a miss. Otherwise an alarm is a false one.
	worse      bool
	tolerance  float64
	confidence float64
	// looks is how many measurements there are. One that fails is an alarm.
	looks  int
	series func(r *rand.Rand, canary bool) []float64
}

const valuesOfRelease = 21 // window 10m, step 30s

// latency are values whose logarithms are normal, with a standard deviation of 20 %, the canary's higher by a ratio. Each depends on the
// one before by correlation, as windows do that overlap.
func latency(higher, correlation float64) func(*rand.Rand, bool) []float64 {
	return func(r *rand.Rand, canary bool) []float64 {
		out, at := make([]float64, valuesOfRelease), r.NormFloat64()
		for i := range out {
			at = correlation*at + math.Sqrt(1-correlation*correlation)*r.NormFloat64()
			out[i] = .1 * math.Exp(.2*at)
			if canary {
				out[i] *= 1 + higher
			}
		}
		return out
	}
}

// errors are the shares of requests that fail, of a number of requests for each value.
func errors(requests int, baseline, canary float64) func(*rand.Rand, bool) []float64 {
	return func(r *rand.Rand, isCanary bool) []float64 {
		out, share := make([]float64, valuesOfRelease), baseline
		if isCanary {
			share = canary
		}
		for i := range out {
			for range requests {
				if r.Float64() < share {
					out[i] += 1 / float64(requests)
				}
			}
		}
		return out
	}
}

var releases = []release{
	{"both versions alike", false, .1, .98, 1, latency(0, 0)},
	{"both versions alike, tolerance 0%", false, 0, .98, 1, latency(0, 0)},
	{"both versions alike, tolerance 0%, confidence 99.9", false, 0, .999, 1, latency(0, 0)},
	{"both versions alike, 10 measurements", false, .1, .98, 10, latency(0, 0)},
	{"both versions alike, values overlap (correlation 0.7)", false, .1, .98, 1, latency(0, .7)},
	{"both versions alike, values overlap (correlation 0.7), tolerance 0%", false, 0, .98, 1, latency(0, .7)},
	{"both versions alike, 1% of 100 requests fail", false, .1, .98, 1, errors(100, .01, .01)},
	{"latency 10% higher", true, .1, .98, 1, latency(.1, 0)},
	{"latency 20% higher", true, .1, .98, 1, latency(.2, 0)},
	{"latency 30% higher", true, .1, .98, 1, latency(.3, 0)},
	{"latency 50% higher", true, .1, .98, 1, latency(.5, 0)},
	{"2% of 100 requests fail, 1% of the baseline's", true, .1, .98, 1, errors(100, .01, .02)},
	{"3% of 100 requests fail, 1% of the baseline's", true, .1, .98, 1, errors(100, .01, .03)},
	{"5% of 100 requests fail, 1% of the baseline's", true, .1, .98, 1, errors(100, .01, .05)},
}

// alarms is the share of releases in which there is an alarm.
func (c release) alarms(seed uint64, times int) float64 {
	r := rand.New(rand.NewPCG(seed, 22))
	rules := Rules{Direction: Increase, Confidence: c.confidence, Tolerance: Tolerance{Ratio: c.tolerance}, MinSamples: 10}
	found := 0
	for range times {
		for range c.looks {
			if Judge(Signal{Rules: rules, Canary: c.series(r, true), Baseline: c.series(r, false)}).Fails() {
				found++
				break
			}
		}
	}
	return float64(found) / float64(times)
}

// TestRates holds the table of the docs to what 500 releases of each kind show. With -rewrite it writes the table, from 10,000 of each.
func TestRates(t *testing.T) {
	text, err := os.ReadFile(ratesPage)
	if err != nil {
		t.Fatal(err)
	}
	rewrite := flag.Lookup("rewrite").Value.String() == "true"
	times := 500
	if rewrite {
		times = 10_000
	}
	alarms := make([]float64, len(releases))
	var wg sync.WaitGroup
	for i, c := range releases {
		wg.Go(func() { alarms[i] = c.alarms(uint64(i), times) })
	}
	wg.Wait()
	if rewrite {
		table := "<!-- rates -->\n| release | false alarms | misses |\n|---|---|---|\n"
		for i, c := range releases {
			if c.worse {
				table += fmt.Sprintf("| %s | | %.2f %% |\n", c.name, 100*(1-alarms[i]))
			} else {
				table += fmt.Sprintf("| %s | %.2f %% | |\n", c.name, 100*alarms[i])
			}
		}
		if err := os.WriteFile(ratesPage, ratesTable.ReplaceAllLiteral(text, []byte(table+"<!-- end of rates -->")), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i, c := range releases {
		shown, err := ratesShown(string(text), c)
		if err != nil {
			t.Errorf("%s: %v; write the table with go test ./internal/metric/judge -run TestRates -rewrite", c.name, err)
			continue
		}
		// Four standard deviations, and a release more or less for rates near 0.
		if far := 4*math.Sqrt(shown*(1-shown)/float64(times)) + 2/float64(times); math.Abs(alarms[i]-shown) > far {
			t.Errorf("%s: alarms in %.2f %% of %d releases, and the page says %.2f %%", c.name, 100*alarms[i], times, 100*shown)
		}
	}
}

// ratesShown is the share of alarms that the page shows.
func ratesShown(page string, c release) (float64, error) {
	_, row, ok := strings.Cut(page, "| "+c.name+" |")
	if !ok {
		return 0, fmt.Errorf("%s does not have it", ratesPage)
	}
	row, _, _ = strings.Cut(row, "\n")
	percent, err := strconv.ParseFloat(strings.Trim(row, " |%"), 64)
	if c.worse {
		percent = 100 - percent
	}
	return percent / 100, err
}
