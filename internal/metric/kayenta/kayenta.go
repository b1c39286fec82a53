package kayenta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

const (
	timeout = 15 * time.Second
	// poll is how long to wait before asking again for the score.
	poll = 15 * time.Second
	// executionKey is where a measurement keeps the ID of its comparison.
	executionKey = "canaryExecutionId"
	// failuresKey is where it keeps how often in a row Kayenta did not say how the comparison is doing, and mostFailures how often it may: an
	// error of the measurement would begin another comparison.
	failuresKey  = "failedPolls"
	mostFailures = 20
)

// Provider compares.
type Provider struct {
	Clock   clock.PassiveClock
	Network *server.Network
}

// Measure starts a comparison.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	m := r.Metric.Provider.Kayenta
	body, err := p.comparison(r)
	if err != nil {
		return metric.Reading{}, err
	}
	question := fmt.Sprintf("canary config %q at %s", m.CanaryConfigName, server.Place(m.Address))
	id, err := p.start(ctx, r, body)
	if err != nil {
		return metric.Reading{}, fmt.Errorf("%s: %w", question, err)
	}
	return p.wait(map[string]string{executionKey: id, metric.Asked: question}), nil
}

func (p Provider) start(ctx context.Context, r metric.Request, body []byte) (string, error) {
	m := r.Metric.Provider.Kayenta
	config, err := p.configID(ctx, r)
	if err != nil {
		return "", err
	}
	ask := url.Values{
		"application": {m.Application}, "metricsAccountName": {m.MetricsAccountName},
		"configurationAccountName": {m.ConfigurationAccountName}, "storageAccountName": {m.StorageAccountName},
	}
	answer, err := p.ask(ctx, r, server.Question{
		Options: server.Options{
			URL:     "/canary/" + url.PathEscape(config) + "?" + ask.Encode(),
			Headers: []v1alpha1.WebMetricHeader{{Key: "Content-Type", Value: "application/json"}},
		},
		Method: http.MethodPost, Body: body, Once: true,
	})
	if err != nil {
		return "", err
	}
	var started struct {
		ID string `json:"canaryExecutionId"`
	}
	if err := answer.Decode(&started); err != nil {
		return "", err
	}
	if started.ID == "" {
		return "", fmt.Errorf("Invalid Response: it has no canaryExecutionId: %s", answer.Excerpt()) //nolint:staticcheck // the text is known
	}
	return started.ID, nil
}

// configID finds the configuration. Argo Rollouts looks with the name of the storage account; what is only found like that is taken too.
func (p Provider) configID(ctx context.Context, r metric.Request) (string, error) {
	m := r.Metric.Provider.Kayenta
	var last error
	for _, account := range []string{m.ConfigurationAccountName, m.StorageAccountName} {
		ask := url.Values{"application": {m.Application}, "configurationAccountName": {account}}
		answer, err := p.ask(ctx, r, server.Question{Options: server.Options{URL: "/canaryConfig?" + ask.Encode()}})
		if err != nil {
			last = err
			continue
		}
		var configs []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		}
		if err := answer.Decode(&configs); err != nil {
			return "", err
		}
		for _, c := range configs {
			if c.Name == m.CanaryConfigName && c.ID != "" {
				return c.ID, nil
			}
		}
		last = fmt.Errorf("Canary config not found: application %q has none of that name in account %q", //nolint:staticcheck // the text is known
			m.Application, m.ConfigurationAccountName)
		if account == m.StorageAccountName {
			break
		}
	}
	return "", last
}

type scope struct {
	Scope    string `json:"scope"`
	Location string `json:"location"`
	Step     int64  `json:"step"`
	Start    string `json:"start"`
	End      string `json:"end"`
}

type scopes struct {
	Control    scope `json:"controlScope"`
	Experiment scope `json:"experimentScope"`
}

type comparison struct {
	Scopes     map[string]scopes         `json:"scopes"`
	Thresholds v1alpha1.KayentaThreshold `json:"thresholds"`
}

// comparison is what to compare, as Kayenta is told.
func (p Provider) comparison(r metric.Request) ([]byte, error) {
	m := r.Metric.Provider.Kayenta
	out := comparison{Scopes: map[string]scopes{}, Thresholds: m.Threshold}
	for _, s := range m.Scopes {
		control, experiment := s.ControlScope, s.ExperimentScope
		if (control.Start == "") != (experiment.Start == "") {
			return nil, errors.New("controlScope.start and experimentScope.start must both be set or be empty")
		}
		if (control.End == "") != (experiment.End == "") {
			return nil, errors.New("controlScope.end and experimentScope.end must both be set or be empty")
		}
		if control.Start == "" {
			start, err := p.begin(r)
			if err != nil {
				return nil, err
			}
			control.Start, experiment.Start = start, start
		}
		if control.End == "" {
			end := p.Clock.Now().UTC().Format(time.RFC3339)
			control.End, experiment.End = end, end
		}
		out.Scopes[s.Name] = scopes{told(control), told(experiment)}
	}
	return json.Marshal(out)
}

func told(s v1alpha1.ScopeDetail) scope {
	return scope{Scope: s.Scope, Location: s.Region, Step: s.Step, Start: s.Start, End: s.End}
}

// begin is where the range of a comparison begins: with the run, or as long ago as the metric's interval.
func (p Provider) begin(r metric.Request) (string, error) {
	now := p.Clock.Now().UTC()
	if r.Metric.Provider.Kayenta.Lookback {
		start := r.Run.StartedAt
		if start.IsZero() {
			start = now
		}
		return start.UTC().Format(time.RFC3339), nil
	}
	interval, err := r.Metric.Interval.Duration()
	if err != nil {
		return "", fmt.Errorf("Invalid duration %q: %w: set the metric's interval, or lookback, or start in both scopes", r.Metric.Interval, err) //nolint:staticcheck // the text is known
	}
	return now.Add(-interval).Format(time.RFC3339), nil
}

// Resume asks for the score.
func (p Provider) Resume(ctx context.Context, r metric.Request) (metric.Reading, error) {
	id := r.Begun.Metadata[executionKey]
	if id == "" {
		return metric.Reading{}, fmt.Errorf("the measurement does not say which comparison it is: its metadata has no %s", executionKey)
	}
	known := maps.Clone(r.Begun.Metadata)
	failures, _ := strconv.Atoi(known[failuresKey])
	delete(known, failuresKey)
	answer, err := p.ask(ctx, r, server.Question{Options: server.Options{URL: "/canary/" + url.PathEscape(id)}})
	switch {
	case err != nil && answer.Status != http.StatusNotFound && failures < mostFailures:
		known[failuresKey] = strconv.Itoa(failures + 1)
		reading := p.wait(known)
		reading.Message = fmt.Sprintf("canary execution %s: %s; asking again, %d of %d times", id, err, failures+1, mostFailures)
		return reading, nil
	case err != nil:
		return metric.Reading{}, fmt.Errorf("canary execution %s: %w", id, err)
	}
	score, done, err := parse(answer)
	switch {
	case err != nil:
		return metric.Reading{}, fmt.Errorf("canary execution %s: %w", id, err)
	case !done:
		return p.wait(known), nil
	}
	threshold := r.Metric.Provider.Kayenta.Threshold
	reading := metric.Reading{Value: float64(score), Text: strconv.FormatInt(score, 10), Metadata: known}
	switch {
	case score >= threshold.Pass:
		reading.Phase = v1alpha1.AnalysisPhaseSuccessful
	case score >= threshold.Marginal:
		reading.Phase = v1alpha1.AnalysisPhaseInconclusive
		reading.Message = fmt.Sprintf("score %d is less than threshold.pass %d", score, threshold.Pass)
	default:
		reading.Phase = v1alpha1.AnalysisPhaseFailed
		reading.Message = fmt.Sprintf("score %d is less than threshold.marginal %d", score, threshold.Marginal)
	}
	return reading, nil
}

// Stop leaves the comparison alone: not all versions of Kayenta can end one, and it ends by itself.
func (Provider) Stop(context.Context, metric.Request) error { return nil }

func (p Provider) wait(metadata map[string]string) metric.Reading {
	return metric.Reading{
		Phase: v1alpha1.AnalysisPhaseRunning, ResumeAt: p.Clock.Now().Add(poll), Metadata: metadata,
		Message: "Kayenta compares: execution " + metadata[executionKey],
	}
}

type execution struct {
	Complete  *bool           `json:"complete"`
	Status    string          `json:"status"`
	Exception json.RawMessage `json:"exception"`
	Result    struct {
		JudgeResult struct {
			Score struct {
				Score json.Number `json:"score"`
			} `json:"score"`
		} `json:"judgeResult"`
	} `json:"result"`
}

// parse reads the score of a comparison that is done.
func parse(answer server.Answer) (score int64, done bool, err error) {
	var e execution
	if err := answer.Decode(&e); err != nil {
		return 0, false, err
	}
	switch {
	case e.Complete == nil:
		return 0, false, errors.New("Missing Complete Status") //nolint:staticcheck // the text is known
	case !*e.Complete:
		return 0, false, nil
	}
	number, err := e.Result.JudgeResult.Score.Score.Float64()
	if err != nil || math.Abs(number) > math.MaxInt32 {
		text := "Missing Score"
		if e.Status != "" {
			text += ": the execution is " + e.Status
		}
		if len(e.Exception) > 0 && string(e.Exception) != "null" {
			text += ": " + server.Answer{Body: e.Exception}.Excerpt()
		}
		return 0, true, errors.New(text)
	}
	return int64(number), true, nil
}

func (p Provider) ask(ctx context.Context, r metric.Request, q server.Question) (server.Answer, error) {
	q.URL = server.At(r.Metric.Provider.Kayenta.Address, q.URL)
	q.Memory, q.Network, q.Timeout = r.Memory, p.Network, timeout
	answer, err := server.Ask(ctx, q)
	switch {
	case err != nil:
		return answer, err
	case !answer.OK():
		return answer, fmt.Errorf("Invalid Response: HTTP %d: %w", answer.Status, answer.Refusal()) //nolint:staticcheck // the text is known
	}
	return answer, nil
}
