package cloudwatch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/aws"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

const (
	timeout         = 30 * time.Second
	defaultInterval = 5 * time.Minute
	// mostPages is how many parts of an answer are asked for.
	mostPages = 10
	// messagesKey is where a measurement has what the server says beyond the values.
	messagesKey = "messages"
)

// Provider sends queries.
type Provider struct {
	Clock   clock.PassiveClock
	Network *server.Network
	Account *aws.Account
}

// Measure sends the queries.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	m := r.Metric.Provider.CloudWatch
	interval, err := metric.Window("interval", m.Interval, defaultInterval)
	if err != nil {
		return metric.Reading{}, err
	}
	end := p.Clock.Now().UTC()
	form, err := request(m, end.Add(-interval), end)
	if err != nil {
		return metric.Reading{}, err
	}
	region, err := p.Account.Region(ctx, aws.Identity{})
	if err != nil {
		return metric.Reading{}, err
	}
	question := fmt.Sprintf("%s at CloudWatch in %s from %s to %s", queries(m), region, form.Get("StartTime"), form.Get("EndTime"))
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	all, err := p.ask(ctx, r, "https://monitoring."+aws.Domain(region)+"/", form)
	if err != nil {
		return metric.Reading{}, fmt.Errorf("%s: operation error CloudWatch: GetMetricData, %w", question, err)
	}
	return all.reading(r, question)
}

// queries says what is asked.
func queries(m *v1alpha1.CloudWatchMetric) string {
	var texts []string
	for _, q := range m.MetricDataQueries {
		text := q.Id
		switch {
		case q.Expression != nil:
			text += " `" + *q.Expression + "`"
		case q.MetricStat != nil:
			text += " `" + q.MetricStat.Stat + " of " + q.MetricStat.Metric.MetricName + "`"
		}
		texts = append(texts, strings.TrimSpace(text))
	}
	return "query " + strings.Join(texts, ", ")
}

// request is the form that asks for the queries.
func request(m *v1alpha1.CloudWatchMetric, start, end time.Time) (url.Values, error) {
	form := url.Values{
		"Action": {"GetMetricData"}, "Version": {"2010-08-01"},
		"StartTime": {start.Format(time.RFC3339)}, "EndTime": {end.Format(time.RFC3339)},
	}
	for i, q := range m.MetricDataQueries {
		set := func(name, value string) {
			if value != "" {
				form.Set(fmt.Sprintf("MetricDataQueries.member.%d.%s", i+1, name), value)
			}
		}
		set("Id", q.Id)
		if q.Expression != nil {
			set("Expression", *q.Expression)
		}
		if q.Label != nil {
			set("Label", *q.Label)
		}
		if q.ReturnData != nil {
			set("ReturnData", strconv.FormatBool(*q.ReturnData))
		}
		if q.Period != nil {
			period, err := seconds(*q.Period)
			if err != nil {
				return nil, fmt.Errorf("metricDataQueries[%d].period: %w", i, err)
			}
			set("Period", period)
		}
		if s := q.MetricStat; s != nil {
			if err := setStat(set, s); err != nil {
				return nil, fmt.Errorf("metricDataQueries[%d].metricStat.period: %w", i, err)
			}
		}
	}
	return form, nil
}

func setStat(set func(name, value string), s *v1alpha1.CloudWatchMetricStat) error {
	period, err := seconds(s.Period)
	if err != nil {
		return err
	}
	set("MetricStat.Period", period)
	set("MetricStat.Stat", s.Stat)
	set("MetricStat.Unit", s.Unit)
	set("MetricStat.Metric.MetricName", s.Metric.MetricName)
	if s.Metric.Namespace != nil {
		set("MetricStat.Metric.Namespace", *s.Metric.Namespace)
	}
	for i, d := range s.Metric.Dimensions {
		set(fmt.Sprintf("MetricStat.Metric.Dimensions.member.%d.Name", i+1), d.Name)
		set(fmt.Sprintf("MetricStat.Metric.Dimensions.member.%d.Value", i+1), d.Value)
	}
	return nil
}

func seconds(period intstr.IntOrString) (string, error) {
	if period.Type == intstr.Int {
		return strconv.Itoa(int(period.IntVal)), nil
	}
	n, err := strconv.ParseInt(period.StrVal, 10, 32)
	if err != nil {
		return "", fmt.Errorf("%q is not a number of seconds", period.StrVal)
	}
	return strconv.FormatInt(n, 10), nil
}

// ask asks for all parts of the answer.
func (p Provider) ask(ctx context.Context, r metric.Request, address string, form url.Values) (results, error) {
	var all results
	for range mostPages {
		body := []byte(form.Encode())
		answer, err := server.Ask(ctx, server.Question{
			Options: server.Options{
				URL: address, Memory: r.Memory, Network: p.Network,
				Headers: []v1alpha1.WebMetricHeader{{Key: "Content-Type", Value: "application/x-www-form-urlencoded"}},
				Prove: func(r *http.Request, body []byte) error {
					return p.Account.Sign(r, body, "monitoring", aws.Identity{})
				},
			},
			Method: http.MethodPost, Body: body, Timeout: timeout,
		})
		if err != nil {
			return all, err
		}
		next, err := all.read(answer)
		if err != nil || next == "" {
			return all, err
		}
		form.Set("NextToken", next)
	}
	return all, fmt.Errorf("the answer has more than %d parts: ask for fewer values", mostPages)
}

// reading is the answer as conditions see it. The names are those that Argo Rollouts' conditions use.
func (all results) reading(r metric.Request, question string) (metric.Reading, error) {
	value := make([]any, len(all.series))
	values := make([][]float64, len(all.series))
	empty := true
	for i, s := range all.series {
		values[i] = s.Values
		empty = empty && len(s.Values) == 0
		value[i] = map[string]any{
			"Id": s.ID, "Label": s.Label, "StatusCode": s.StatusCode, "Values": s.Values, "Timestamps": s.Timestamps, "Messages": s.Messages,
		}
	}
	if empty && r.Metric.WhenNoData != "" {
		return metric.Measured(question, nil, fmt.Sprint(values)), nil
	}
	reading := metric.Measured(question, value, fmt.Sprint(values))
	if len(all.messages) > 0 {
		text, err := json.Marshal(all.messages)
		if err != nil {
			return metric.Reading{}, err
		}
		reading.Metadata[messagesKey] = string(text)
	}
	return reading, nil
}
