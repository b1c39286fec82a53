package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	host "github.com/sluice-delivery/sluice/internal/plugin"
)

const (
	// poll is when a measurement that is under way is asked for where the plugin does not say, and soonest when it does.
	poll, soonest = 10 * time.Second, time.Second
	// longestEnd is how long the end of a run waits for a plugin to end a measurement.
	longestEnd = 10 * time.Second
	// mostMetadata and mostMetadataBytes are what is kept of the metadata that a plugin gives.
	mostMetadata, mostMetadataBytes = 20, 4096
)

// Provider asks plugins.
type Provider struct {
	Clock clock.PassiveClock
	Log   *slog.Logger
	// Host keeps the plugins; nil where there are none.
	Host *host.Host

	mu     sync.Mutex
	ending map[ending]*end
}

// ending tells measurements apart that are being ended.
type ending struct {
	run    types.UID
	metric string
	number int
}

type end struct {
	since time.Time
	done  bool
}

var errNoHost = errors.New("metric plugins run in the cluster and are not measured here: use 'create analysisrun'")

// Measure begins a measurement, which may be over at once.
func (p *Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	if p.Host == nil {
		return metric.Reading{}, errNoHost
	}
	measured, err := host.Ask[v1alpha1.Measurement](ctx, p.Host, question(r, "Run", plugin.RunArgs{AnalysisRun: r.Run.Object, Metric: r.Metric}))
	if err != nil {
		return metric.Reading{}, fmt.Errorf("failed to run via plugin: %w", err)
	}
	reading, err := p.reading("run", r, measured)
	if err == nil {
		reading.About = p.about(ctx, r)
	}
	return reading, err
}

// Resume asks how a measurement is doing.
func (p *Provider) Resume(ctx context.Context, r metric.Request) (metric.Reading, error) {
	if p.Host == nil {
		return metric.Reading{}, errNoHost
	}
	measured, err := host.Ask[v1alpha1.Measurement](ctx, p.Host, question(r, "Resume", begun(r)))
	if err != nil {
		return metric.Reading{}, fmt.Errorf("failed to resume via plugin: %w", err)
	}
	return p.reading("resume", r, measured)
}

// Stop has a measurement ended. No worker waits for a plugin: the first time it only begins.
func (p *Provider) Stop(_ context.Context, r metric.Request) error {
	if p.Host == nil {
		return nil
	}
	key, now := ending{r.Run.UID, r.Metric.Name, r.Number}, p.Clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.ending[key]; e != nil {
		if !e.done && now.Sub(e.since) < longestEnd {
			return metric.ErrUnderway
		}
		delete(p.ending, key)
		return nil
	}
	if p.ending == nil {
		p.ending = map[ending]*end{}
	}
	maps.DeleteFunc(p.ending, func(_ ending, e *end) bool { return now.Sub(e.since) > time.Hour }) // of runs that are gone
	e := &end{since: now}
	p.ending[key] = e
	go func() {
		p.say(r, "Terminate", begun(r))
		p.mu.Lock()
		defer p.mu.Unlock()
		e.done = true
	}()
	return metric.ErrUnderway
}

// Forget tells the plugin how many measurements are kept. Nobody waits for that.
func (p *Provider) Forget(_ context.Context, r metric.Request) error {
	if p.Host == nil {
		return nil
	}
	go p.say(r, "GarbageCollect", plugin.GarbageCollectArgs{AnalysisRun: r.Run.Object, Metric: r.Metric, Limit: r.Run.Kept})
	return nil
}

// say tells a plugin something whose answer changes nothing.
func (p *Provider) say(r metric.Request, method string, args any) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*metric.LongestTimeout)
	defer cancel()
	var err error
	if method == "GarbageCollect" {
		var failed plugin.RpcError
		if failed, err = host.Ask[plugin.RpcError](ctx, p.Host, question(r, method, args)); err == nil && failed.ErrorString != "" {
			err = failed
		}
	} else {
		_, err = host.Ask[v1alpha1.Measurement](ctx, p.Host, question(r, method, args))
	}
	if err != nil {
		p.Log.Warn("a metric plugin did not do what it was asked", "analysisrun", r.Run.Namespace+"/"+r.Run.Name, "metric", r.Metric.Name,
			"method", method, "error", r.Keys.HideIn(err.Error()))
	}
}

func question(r metric.Request, method string, args any) host.Question {
	return host.Question{ID: host.ID{Kind: plugin.MetricProvider, Name: nameOf(r)}, Tenant: r.Run.Namespace, Method: method, Args: args}
}

// nameOf is the plugin that a metric names: it names one.
func nameOf(r metric.Request) string {
	for _, name := range slices.Sorted(maps.Keys(r.Metric.Provider.Plugin)) {
		return name
	}
	return ""
}

func begun(r metric.Request) plugin.TerminateAndResumeArgs {
	args := plugin.TerminateAndResumeArgs{AnalysisRun: r.Run.Object, Metric: r.Metric}
	if r.Begun != nil {
		args.Measurement = *r.Begun
	}
	return args
}

// reading is what a plugin measured, as far as it can be taken.
func (p *Provider) reading(what string, r metric.Request, m v1alpha1.Measurement) (metric.Reading, error) {
	out := metric.Reading{Phase: m.Phase, Value: m.Value, Text: m.Value, Message: m.Message, Metadata: few(m.Metadata)}
	switch m.Phase {
	case v1alpha1.AnalysisPhaseSuccessful, v1alpha1.AnalysisPhaseFailed, v1alpha1.AnalysisPhaseInconclusive:
	case v1alpha1.AnalysisPhaseError:
		return metric.Reading{}, fmt.Errorf("failed to %s via plugin: %s", what, cmp.Or(m.Message, "the plugin does not say why"))
	case v1alpha1.AnalysisPhaseRunning:
		now := p.Clock.Now()
		out.ResumeAt = now.Add(poll)
		if m.ResumeAt != nil {
			out.ResumeAt = m.ResumeAt.Time
		}
		if earliest := now.Add(soonest); out.ResumeAt.Before(earliest) {
			out.ResumeAt = earliest
		}
	case v1alpha1.AnalysisPhasePending:
		fallthrough
	default:
		return metric.Reading{}, fmt.Errorf("failed to %s via plugin: %s answered with phase %q, which is none of Running, Successful, Failed, Error and Inconclusive",
			what, host.ID{Kind: plugin.MetricProvider, Name: nameOf(r)}, m.Phase)
	}
	return out, nil
}

// about is what the plugin says of the metric.
func (p *Provider) about(ctx context.Context, r metric.Request) map[string]string {
	said, err := host.Ask[map[string]string](ctx, p.Host, question(r, "GetMetadata", plugin.GetMetadataArgs{Metric: r.Metric}))
	if err != nil {
		return map[string]string{"error": fmt.Sprintf("failed to get metadata via plugin: %s", err)}
	}
	return few(said)
}

// few are the first of many texts, in the order of their keys.
func few(texts map[string]string) map[string]string {
	if len(texts) == 0 {
		return nil
	}
	out, bytes := map[string]string{}, 0
	for _, said := range slices.Sorted(maps.Keys(texts)) {
		key, text := strings.ToValidUTF8(said, "\uFFFD"), strings.ToValidUTF8(texts[said], "\uFFFD")
		bytes += len(key) + len(text)
		if len(out) == mostMetadata || bytes > mostMetadataBytes {
			break
		}
		out[key] = text
	}
	return out
}
