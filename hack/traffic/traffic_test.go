//go:build linux

package main

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/hack/traffic/load"
)

// The matrix in miniature: an update of each kind, with something happening in its midst, loses no request; and one with careless settings does.
func TestUpdatesLoseNoRequests(t *testing.T) {
	w := wishes{rate: 100, parallel: 3}
	gateway := true
	if _, err := findNGINX(); err != nil {
		if os.Getenv("SLUICE_NO_SKIP") != "" {
			t.Fatal(err)
		}
		gateway = false
	}
	var cells []cell
	for i, s := range strategies {
		if s.gateway && !gateway {
			continue
		}
		e := events[(2*i+1)%len(events)]
		if s.beta != noBeta {
			e = events[0] // a promotion shows where these requests go
		}
		cells = append(cells, cell{strategy: s, event: e, lag: time.Second})
	}
	cells = append(cells, cell{strategy: strategies[0], event: events[0], lag: mistakes[0].lag, careless: &mistakes[0]})
	if _, err := exec.LookPath("prometheus"); err == nil && gateway {
		cells = append(cells, cell{strategy: judged[0], event: badVersion, lag: time.Second})
	} else if os.Getenv("SLUICE_NO_SKIP") != "" {
		t.Fatal(err)
	}
	results, err := play(t.Context(), w, cells)
	for _, r := range results {
		t.Log(r.line())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := faults(results); err != nil {
		t.Error(err)
	}
	if last := results[len(results)-1]; last.cell.judged() {
		if err := unharmed([]result{last}); err != nil {
			t.Error(err)
		}
		if f := last.ledger.Failures(badTag); f.Count > last.ledger.Total().Sum()/10 {
			t.Errorf("%d of %d requests failed, though the bad version was to get 5 %% for seconds", f.Count, last.ledger.Total().Sum())
		}
	}
	if !gateway {
		t.Skip("the cells behind a gateway were not played: apt-get install nginx-light")
	}
}

// emptied removes the canary's pods for longer than they take to end, and brings one back for its first share.
var emptied = strategy{
	name: "Gateway API, emptied", gateway: true, objects: service("web-stable") + service("web-canary") + httpRoute,
	spec: `{canary: {canaryService: web-canary, stableService: web-stable, ` + delays + `trafficRouting: {gatewayAPI: {httpRoute: web}}, ` +
		`steps: [{setCanaryScale: {replicas: 1}}, {pause: {duration: 2s}}, {setCanaryScale: {matchTrafficWeight: true}}, {pause: {duration: 12s}}, ` +
		`{setWeight: 25}, {pause: {duration: 6s}}]}}`,
}

// A Service that had no pod gets requests again: none is lost, though its EndpointSlice lists the pod two seconds after it is available.
func TestAnEmptiedServiceLosesNoRequests(t *testing.T) {
	if _, err := findNGINX(); err != nil {
		if os.Getenv("SLUICE_NO_SKIP") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	results, err := play(t.Context(), wishes{rate: 100, parallel: 1, endpoints: 2 * time.Second}, []cell{{strategy: emptied, event: events[0], lag: time.Second}})
	for _, r := range results {
		t.Log(r.line())
	}
	if err := errors.Join(err, faults(results)); err != nil {
		t.Error(err)
	}
}

// A Rollout that is not the matrix's own is updated under load, and what its users got is written down.
func TestElsewhere(t *testing.T) {
	cluster, err := startCluster(0)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Stop()
	a := &arena{
		cell: cell{strategy: strategies[0], event: events[0]}, cluster: cluster, client: cluster.Client(), namespace: "elsewhere", folder: t.TempDir(),
		log: slog.New(slog.DiscardHandler), rate: 40,
	}
	defer func() {
		if err := a.stop(); err != nil {
			t.Error(err)
		}
	}()
	if err := a.set(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	url, _, err := a.target(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.answers(t.Context(), url, ""); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	e := elsewhere{
		namespace: a.namespace, rollout: "web", url: url, header: load.VersionHeader, image: image("v2-err50"), around: 2 * time.Second, within: patience,
	}
	if err := e.update(t.Context(), a.client, a.rate, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	t.Log(out.String())
	for _, want := range []string{"elsewhere/web is updated to sluice-playground/http:v2-err50.", "Healthy after ", ": 0 lost, ", "version v1: ", ", 0 errors\n", "version v2-err50: ", "from the first to the last"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in it:\n%s", want, &out)
		}
	}
	for name, tc := range map[string]struct {
		change func(*elsewhere)
		want   string
	}{
		"another Rollout":   {func(e *elsewhere) { e.rollout = "wbe" }, `-rollout: rollouts.argoproj.io "wbe" not found`},
		"another container": {func(e *elsewhere) { e.container = "ap" }, `-container: there is no "ap", but app`},
		"the same image":    {func(*elsewhere) {}, "has the image sluice-playground/http:v2-err50 already"},
		"nobody answers":    {func(e *elsewhere) { e.image, e.url = image("v3"), "http://127.0.0.1:1/" }, "-url: http://127.0.0.1:1/ answered none of"},
	} {
		other := e
		tc.change(&other)
		if err := other.update(t.Context(), a.client, 5, io.Discard); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestFlags(t *testing.T) {
	for name, args := range map[string][]string{
		"a rate of none":                {"-rate", "0"},
		"a lag that is none":            {"-lags", "soon"},
		"a lag longer than proxies lag": {"-lags", "1m"},
		"a flag that there is not":      {"-speed", "9"},
		"an image for nothing":          {"-image", "web:2"},
		"a URL that is none":            {"-image", "web:2", "-rollout", "web", "-url", "web.example.org"},
		"a Rollout without an image":    {"-rollout", "web"},
	} {
		if _, err := read(args); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if w, err := read([]string{"-bad", "-lags", "1s"}); err != nil || len(w.cells()) != len(judged) {
		t.Errorf("%d cells with a bad version, want %d (%v)", len(w.cells()), len(judged), err)
	}
	w, err := read([]string{"-strategy", "nginx", "-event", "abort", "-careless=false"})
	if err != nil {
		t.Fatal(err)
	}
	if cells := w.cells(); len(cells) != 4 { // two strategies with NGINX, two lags
		t.Errorf("%d cells, want 4: %v", len(cells), cells)
	}
}
