package cli

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/view"
)

const (
	// trialInterval is the time between two measurements of a metric without an interval.
	trialInterval = 10 * time.Second
	// shortestTrialInterval keeps a mistake from flooding a server.
	shortestTrialInterval = time.Second
)

// numbered is a measurement of one of the metrics.
type numbered struct {
	index  int
	result measure.Result
}

// watchTrial measures each metric at its interval, and shows the series, until ctx ends.
func (a *app) watchTrial(ctx context.Context, t trial, tasks []measure.Task, once func(context.Context, measure.Task) measure.Result) error {
	screen := live.NewScreen(a.Out, t.noColor)
	screen.Clock = a.clock
	end, err := screen.Begin()
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	results := make(chan numbered)
	picture := view.Trial{Series: make([]view.Series, len(tasks))}
	for i, task := range tasks {
		every := intervalOf(task.Metric)
		picture.Series[i] = view.Series{Name: task.Metric.Name, Every: every}
		work.Go(func() { a.again(ctx, i, task, every, once, results) })
	}
	for {
		select {
		case <-ctx.Done():
			if t.timeout > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return unsuccessful(picture.Unsuccessful(), len(tasks))
			}
			return ctx.Err()
		case r := <-results:
			series := &picture.Series[r.index]
			add(series, r.result)
			if err := screen.Put(picture, view.Trial{Series: []view.Series{*series}}.Summary()); err != nil {
				return err
			}
		}
	}
}

// again measures a metric at its interval until ctx ends.
func (a *app) again(ctx context.Context, index int, task measure.Task, every time.Duration, once func(context.Context, measure.Task) measure.Result, to chan<- numbered) {
	for {
		result := once(ctx, task)
		if ctx.Err() != nil {
			return // it was cut off
		}
		timer := a.clock.NewTimer(every)
		select {
		case to <- numbered{index, result}:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func intervalOf(m v1alpha1.Metric) time.Duration {
	every, err := m.Interval.Duration()
	if err != nil || every <= 0 {
		return trialInterval
	}
	return max(every, shortestTrialInterval)
}

// add adds a measurement, without what must not be shown of it.
func add(s *view.Series, r measure.Result) {
	hide := r.Secrets.Hide
	message := cmp.Or(r.Err, r.Reading.Message)
	s.Add(numberOf(r.Reading.Value), hide(r.Reading.Text), hide(cmp.Or(r.Reading.Metadata[metric.Asked], r.Reading.Question)),
		view.AnalysisStatus(verdict(r), hide(message)))
}

// numberOf is what a chart shows of a value: the number, or the first of a list. NaN for anything else.
func numberOf(value any) float64 {
	switch v := value.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case int:
		return float64(v)
	case []float64:
		if len(v) > 0 {
			return v[0]
		}
	case []any:
		if len(v) > 0 {
			return numberOf(v[0])
		}
	}
	return math.NaN()
}
