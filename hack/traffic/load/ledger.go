package load

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// Ledger is what came of all requests.
type Ledger struct {
	// header of an answer that names the version.
	header string
	// foreign: applications may leave the header out. Then only an error that proxies make is taken for theirs.
	foreign bool

	mu      sync.Mutex
	begin   time.Time
	all     Count
	seconds map[int]map[string]*Count // by second since the begin, and version
	latency []time.Duration
	reasons map[string]int
	failed  map[string]Failures
}

// Failures are the errors that a version answered with.
type Failures struct {
	Count int
	// First and Last are when the first and the last of these requests were sent.
	First, Last time.Time
}

// Count counts requests.
type Count struct {
	// Good were answered by a pod, with a success.
	Good int
	// Bad were answered by a pod, with an error of the application.
	Bad int
	// Lost were not answered by a pod: connections refused, reset or closed, timeouts, errors of a proxy.
	Lost int
}

// Sum is all of them.
func (c Count) Sum() int { return c.Good + c.Bad + c.Lost }

// Add adds another count.
func (c *Count) Add(o Count) {
	c.Good, c.Bad, c.Lost = c.Good+o.Good, c.Bad+o.Bad, c.Lost+o.Lost
}

// VersionHeader is the header in which the playground's pods name their version.
const VersionHeader = "X-Version"

// Unknown is the version of answers that name none, in a ledger of ForeignLedger.
const Unknown = "unknown"

// NewLedger begins now. Every answer of a pod names its version in the VersionHeader.
func NewLedger() *Ledger {
	return &Ledger{
		header: VersionHeader,
		begin:  time.Now(), seconds: map[int]map[string]*Count{}, reasons: map[string]int{}, failed: map[string]Failures{},
	}
}

// ForeignLedger is for applications whose answers may name their version in a header, and may not. An answer that names none is the application's,
// unless it is an error that a proxy may have made: 502, 503 and 504 count as lost.
func ForeignLedger(header string) *Ledger {
	l := NewLedger()
	l.header, l.foreign = header, true
	return l
}

func (l *Ledger) add(r *vegeta.Result) {
	version, one := l.version(r), Count{}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case version == "":
		one.Lost = 1
		reason := addresses.ReplaceAllString(r.Error, "")
		if reason == "" {
			reason = fmt.Sprintf("%d without a pod's answer", r.Code)
		}
		l.reasons[reason]++
	case r.Code >= 500:
		one.Bad = 1
		l.failed[version] = l.failed[version].and(r.Timestamp)
	default:
		one.Good = 1
	}
	second := int(r.Timestamp.Sub(l.begin) / time.Second)
	if l.seconds[second] == nil {
		l.seconds[second] = map[string]*Count{}
	}
	if l.seconds[second][version] == nil {
		l.seconds[second][version] = &Count{}
	}
	l.seconds[second][version].Add(one)
	l.all.Add(one)
	l.latency = append(l.latency, r.Latency)
}

// version that answered, empty if no application did.
func (l *Ledger) version(r *vegeta.Result) string {
	version := r.Headers.Get(l.header)
	if version == "" && l.foreign && r.Code != 0 && (r.Code < http.StatusBadGateway || r.Code > http.StatusGatewayTimeout) {
		return Unknown
	}
	return version
}

// Versions that answered, in the order of their names.
func (l *Ledger) Versions() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]bool{}
	for _, versions := range l.seconds {
		for version := range versions {
			all[version] = true
		}
	}
	delete(all, "")
	return slices.Sorted(maps.Keys(all))
}

// Of is what a version answered.
func (l *Ledger) Of(version string) (sum Count) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, versions := range l.seconds {
		if c := versions[version]; c != nil {
			sum.Add(*c)
		}
	}
	return sum
}

func (f Failures) and(at time.Time) Failures {
	f.Count++
	if f.First.IsZero() || at.Before(f.First) {
		f.First = at
	}
	if at.After(f.Last) {
		f.Last = at
	}
	return f
}

// For is the time from the first failure to the last.
func (f Failures) For() time.Duration { return f.Last.Sub(f.First) }

// Failures are those of a version.
func (l *Ledger) Failures(version string) Failures {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed[version]
}

// Total of all requests.
func (l *Ledger) Total() Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// Reasons are why requests were lost, and how many for each.
func (l *Ledger) Reasons() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.reasons)
}

// Latency is the time within which the share q of the requests was answered, 0 to 1.
func (l *Ledger) Latency(q float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.latency) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l.latency))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// Second is what came of the requests of one second, by version. The version of lost ones is "".
func (l *Ledger) Second(second int) map[string]Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[string]Count{}
	for version, c := range l.seconds[second] {
		counts[version] = *c
	}
	return counts
}

// addresses in reasons differ from one connection to the next.
var addresses = regexp.MustCompile(`(Get "[^"]*": )|( tcp)? 127\.[0-9.]+:[0-9]+(->127\.[0-9.]+:[0-9]+)?`)

// At is the second of a moment.
func (l *Ledger) At(t time.Time) int { return int(t.Sub(l.begin) / time.Second) }

// Share tests whether a version got a share of the requests that were answered between two seconds, the last not included. It returns what it got and
// the probability of a difference at least as large by chance (Pearson's chi-squared test with one degree of freedom); 1 where there were no requests.
func (l *Ledger) Share(version string, asked float64, from, to int) (got, p float64) {
	var of, all int
	for second := from; second < to; second++ {
		for v, c := range l.Second(second) {
			n := c.Good + c.Bad
			all += n
			if v == version {
				of += n
			}
		}
	}
	if all == 0 {
		return 0, 1
	}
	got = float64(of) / float64(all)
	if asked <= 0 || asked >= 1 {
		if got == asked {
			return got, 1
		}
		return got, 0
	}
	expected := asked * float64(all)
	difference := float64(of) - expected
	chi2 := difference*difference/expected + difference*difference/(float64(all)-expected)
	return got, math.Erfc(math.Sqrt(chi2 / 2))
}
