package datadog

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// timeseries asks API v1.
func (p Provider) timeseries(ctx context.Context, r metric.Request, t task) (metric.Reading, error) {
	ask := url.Values{
		"query": {t.queries[0].text},
		"from":  {strconv.FormatInt(t.from.Unix(), 10)},
		"to":    {strconv.FormatInt(t.to.Unix(), 10)},
	}
	answer, err := p.ask(ctx, r, t, server.Question{Options: server.Options{URL: "/api/v1/query?" + ask.Encode()}})
	if err != nil {
		return metric.Reading{}, err
	}
	return lastPoint(answer)
}

type points struct {
	Series []struct {
		Pointlist [][]*float64 `json:"pointlist"`
	} `json:"series"`
	Error string `json:"error"`
}

// lastPoint is the last point of the first series that has a value.
func lastPoint(answer server.Answer) (metric.Reading, error) {
	var all points
	if err := answer.Decode(&all); err != nil {
		return metric.Reading{}, err
	}
	if all.Error != "" {
		return metric.Reading{}, errors.New("There were errors in your query: " + all.Error)
	}
	var value *float64
	if len(all.Series) > 0 {
		for _, point := range all.Series[0].Pointlist {
			if len(point) != 2 {
				return metric.Reading{}, errors.New("Datapoint does not have 2 values") //nolint:staticcheck // the text is known
			}
			if point[1] != nil {
				value = point[1]
			}
		}
	}
	if value == nil {
		text, err := json.Marshal(all.Series)
		return metric.Reading{Text: string(text)}, err
	}
	return metric.Reading{Value: *value, Text: strconv.FormatFloat(*value, 'f', -1, 64)}, nil
}
