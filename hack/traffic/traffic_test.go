//go:build linux

package main

import (
	"os"
	"os/exec"
	"testing"
	"time"
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
		cells = append(cells, cell{strategy: s, event: events[(2*i+1)%len(events)], lag: time.Second})
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

func TestFlags(t *testing.T) {
	for name, args := range map[string][]string{
		"a rate of none":                {"-rate", "0"},
		"a lag that is none":            {"-lags", "soon"},
		"a lag longer than proxies lag": {"-lags", "1m"},
		"a flag that there is not":      {"-speed", "9"},
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
