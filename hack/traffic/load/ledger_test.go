package load

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// Of an application that names no version, an answer counts unless a proxy may have made it.
func TestForeignLedger(t *testing.T) {
	l := ForeignLedger("App-Version")
	for _, r := range []vegeta.Result{
		{Code: 200, Headers: http.Header{"App-Version": {"7"}}},
		{Code: 200},
		{Code: 404},
		{Code: 500},
		{Code: 503},
		{Code: 503, Headers: http.Header{"App-Version": {"8"}}},
		{Error: "connection refused"},
	} {
		r.Timestamp = l.begin
		l.add(&r)
	}
	got := map[string]Count{}
	for _, version := range l.Versions() {
		got[version] = l.Of(version)
	}
	if diff := cmp.Diff(map[string]Count{"7": {Good: 1}, "8": {Bad: 1}, Unknown: {Good: 2, Bad: 1}}, got); diff != "" || l.Total().Lost != 2 {
		t.Errorf("%d lost, want 2 (-want +got)\n%s", l.Total().Lost, diff)
	}
}

// A request is lost if no pod answered it, whatever else did.
func TestLedger(t *testing.T) {
	l := NewLedger()
	pod := func(version string) http.Header { return http.Header{"X-Version": {version}} }
	for _, r := range []vegeta.Result{
		{Code: 200, Headers: pod("v1"), Latency: 1},
		{Code: 500, Headers: pod("v2"), Latency: 2},
		{Code: 503, Latency: 3},
		{Error: `Get "http://127.96.1.2:80": dial tcp 127.0.0.1:0->127.96.1.2:80: connect: connection refused`, Latency: 4},
		{Error: `Get "http://127.96.1.2:80": dial tcp 127.0.0.1:0->127.96.1.3:80: connect: connection refused`, Latency: 5},
	} {
		r.Timestamp = l.begin.Add(1500 * time.Millisecond)
		l.add(&r)
	}
	if diff := cmp.Diff(Count{Good: 1, Bad: 1, Lost: 3}, l.Total()); diff != "" {
		t.Errorf("total (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"503 without a pod's answer": 1, "dial: connect: connection refused": 2}, l.Reasons()); diff != "" {
		t.Errorf("reasons (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[string]Count{"v1": {Good: 1}, "v2": {Bad: 1}, "": {Lost: 3}}, l.Second(1)); diff != "" {
		t.Errorf("second (-want +got)\n%s", diff)
	}
	if got := l.Latency(0.5); got != 3 {
		t.Errorf("the median is %v, want 3ns", got)
	}
	l.add(&vegeta.Result{Code: 500, Headers: pod("v2"), Timestamp: l.begin.Add(time.Second)})
	l.add(&vegeta.Result{Code: 500, Headers: pod("v2"), Timestamp: l.begin.Add(4 * time.Second)})
	if f := l.Failures("v2"); f.Count != 3 || f.For() != 3*time.Second {
		t.Errorf("failures of v2: %d in %s, want 3 in 3s", f.Count, f.For())
	}
	if f := l.Failures("v1"); f.Count != 0 || f.For() != 0 {
		t.Errorf("failures of v1: %+v, want none", f)
	}
}

// The test of a share against values of the chi-squared distribution with one degree of freedom (3.8415 for 0.05).
func TestShare(t *testing.T) {
	fill := func(canary, stable int) *Ledger {
		l := NewLedger()
		for i := range canary + stable {
			version := "v1"
			if i < canary {
				version = "v2"
			}
			l.add(&vegeta.Result{Code: 200, Headers: http.Header{"X-Version": {version}}, Timestamp: l.begin})
		}
		return l
	}
	for name, tc := range map[string]struct {
		canary, stable int
		asked, p       float64
	}{
		"just as asked":               {50, 50, 0.5, 1},
		"60 of 100 where 50 were due": {60, 40, 0.5, 0.0455},  // chi-squared 4
		"33 of 100 where 25 were due": {33, 67, 0.25, 0.0647}, // 64/25 + 64/75 = 3.4133
		"none asked, none got":        {0, 100, 0, 1},
		"none asked, one got":         {1, 99, 0, 0},
		"no requests":                 {0, 0, 0.5, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, p := fill(tc.canary, tc.stable).Share("v2", tc.asked, 0, 1); math.Abs(p-tc.p) > 0.0001 {
				t.Errorf("p is %.4f, want %.4f", p, tc.p)
			}
		})
	}
}

// Requests go out at their rate however slow the answers are, half of them over new connections.
func TestRunIsAnOpenLoop(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-release
		w.Header().Set("X-Version", r.Host)
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	l, done := NewLedger(), make(chan struct{})
	go func() {
		defer close(done)
		Run(ctx, Options{URL: server.URL, Host: "web.example.org", Rate: 100, Timeout: time.Minute}, l)
	}()
	time.AfterFunc(time.Second, cancel)
	<-ctx.Done()
	close(release)
	<-done
	if total := l.Total(); total.Good < 10 || total.Lost > 0 {
		t.Errorf("of the requests that were sent while no answer came: %+v", total)
	}
	if l.Second(0)["web.example.org"].Good == 0 {
		t.Error("the server was asked for another host")
	}
}
