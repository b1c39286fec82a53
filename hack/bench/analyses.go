//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	// analysisInterval is that of the metric of each AnalysisRun.
	analysisInterval = 10 * time.Second
	// analysisWarmUp is how long runs are measured before anything counts: until each has as many measurements as are kept. analysisTime is how
	// long it counts, and footprints are taken every so often meanwhile.
	analysisWarmUp, analysisTime, footprintEvery = 2 * time.Minute, 3 * time.Minute, 2 * time.Second
)

// analyses is what AnalysisRuns cost that all measure at one interval.
type analyses struct {
	runs, measured int
	late           timings
	cpu            time.Duration
	// first and last are the most in the first half of the time, and in the last.
	first, last footprint
	took        time.Duration
}

// footprint is what the controller holds.
type footprint struct {
	resident   int64
	goroutines int
}

// measureAnalyses has n AnalysisRuns measured that ask a server which answers at once, and times when it is asked.
func (f *field) measureAnalyses(ctx context.Context, n int) (a analyses, err error) {
	started := time.Now()
	namespace, err := f.namespace(ctx)
	if err != nil {
		return a, err
	}
	a.runs = n
	asked := &askedTimes{last: map[string]time.Time{}}
	server := httptest.NewServer(asked)
	defer server.Close()
	c, err := startController(f.cluster, f.folder)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	if err := c.ready(ctx); err != nil {
		return a, err
	}
	if err := f.createAnalyses(ctx, namespace, n, server.URL); err != nil {
		return a, err
	}
	if err := asked.all(ctx, n); err != nil {
		return a, err
	}
	wait(ctx, analysisWarmUp)
	before, err := c.cpu()
	if err != nil {
		return a, err
	}
	asked.begin()
	a.first, err = c.most(ctx, analysisTime/2)
	if err != nil {
		return a, err
	}
	a.last, err = c.most(ctx, analysisTime/2)
	late := asked.end()
	after, err1 := c.cpu()
	a.cpu = after - before
	if err := errors.Join(err, err1); err != nil {
		return a, err
	}
	if want := n * int(analysisTime/analysisInterval) * 9 / 10; len(late) < want {
		return a, fmt.Errorf("%d measurements in %s, want %d at least; they are late by %+v, and %d runs were not measured lately", len(late), analysisTime, want,
			timingsOf(append(late, 0)), asked.silent())
	}
	a.measured, a.late, a.took = len(late), timingsOf(late), time.Since(started)
	return a, nil
}

// createAnalyses makes the AnalysisRuns over one interval, as those of many Rollouts begin at all times.
func (f *field) createAnalyses(ctx context.Context, namespace string, n int, server string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(hands)
	pause := analysisInterval / time.Duration(n)
	for i := range n {
		wait(ctx, pause)
		group.Go(func() error {
			var run unstructured.Unstructured
			name := fmt.Sprintf("run%04d", i)
			text := fmt.Sprintf("{apiVersion: argoproj.io/v1alpha1, kind: AnalysisRun, metadata: {name: %s}, spec: {metrics: [{name: value, interval: %s, "+
				"successCondition: result < 2, provider: {web: {url: %q}}}]}}", name, analysisInterval, server+"/"+name)
			if err := yaml.Unmarshal([]byte(text), &run.Object); err != nil {
				return err
			}
			run.SetNamespace(namespace)
			return f.cluster.Client().Create(ctx, &run)
		})
	}
	return group.Wait()
}

// most is the most that the process holds for a time.
func (p *process) most(ctx context.Context, long time.Duration) (most footprint, err error) {
	for until := time.Now().Add(long); time.Now().Before(until) && ctx.Err() == nil; wait(ctx, footprintEvery) {
		now, err := p.footprint()
		if err != nil {
			return most, err
		}
		most.resident, most.goroutines = max(most.resident, now.resident), max(most.goroutines, now.goroutines)
	}
	return most, ctx.Err()
}

// footprint is what the process holds now.
func (p *process) footprint() (footprint, error) {
	resident, err := p.resident()
	goroutines := p.metric("go_goroutines", "")
	if goroutines == 0 {
		err = errors.Join(err, errors.New("the controller does not say how many goroutines it has"))
	}
	return footprint{resident, int(goroutines)}, err
}

// askedTimes is a metric server that writes down how late it is asked.
type askedTimes struct {
	mu       sync.Mutex
	last     map[string]time.Time
	late     []time.Duration
	counting bool
}

// ServeHTTP answers 1. A measurement is due an interval after the one before ended, which is written down in whole seconds.
func (a *askedTimes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	a.mu.Lock()
	if last, ok := a.last[r.URL.Path]; ok && a.counting {
		a.late = append(a.late, max(0, now.Sub(last.Truncate(time.Second).Add(analysisInterval))))
	}
	a.last[r.URL.Path] = now
	a.mu.Unlock()
	_, _ = io.WriteString(w, "1")
}

// all waits until n runs have been measured.
func (a *askedTimes) all(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not all of %d AnalysisRuns were measured within %s", n, patience))
	defer cancel()
	for ctx.Err() == nil {
		a.mu.Lock()
		seen := len(a.last)
		a.mu.Unlock()
		if seen == n {
			return nil
		}
		wait(ctx, 100*time.Millisecond)
	}
	return context.Cause(ctx)
}

func (a *askedTimes) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counting = true
}

// silent are how many runs were not measured for two intervals.
func (a *askedTimes) silent() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, last := range a.last {
		if time.Since(last) > 2*analysisInterval {
			n++
		}
	}
	return n
}

// end returns by how much each measurement was late.
func (a *askedTimes) end() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counting = false
	return slices.Clone(a.late)
}
