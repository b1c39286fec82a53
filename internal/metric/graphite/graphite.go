package graphite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// timeout is how long to wait for an answer.
const timeout = 10 * time.Second

// Provider sends queries.
type Provider struct{ Network *server.Network }

// Measure sends the query.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	m := r.Metric.Provider.Graphite
	if u, err := url.Parse(m.Address); err != nil || u.Host == "" {
		return metric.Reading{}, fmt.Errorf("Graphite address %s is not a valid URL: write for example http://graphite.monitoring", m.Address) //nolint:staticcheck // a name
	}
	query := strings.Join(strings.Fields(m.Query), "")
	question := fmt.Sprintf("query `%s` at %s", query, server.Place(m.Address))
	values, err := p.ask(ctx, r, server.At(m.Address, "/render?"+query+"&format=json"))
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = fmt.Sprintf("%f", value)
	}
	return r.Conclude(question, values, "["+strings.Join(texts, ",")+"]", err)
}

func (p Provider) ask(ctx context.Context, r metric.Request, address string) ([]float64, error) {
	answer, err := server.Ask(ctx, server.Question{
		Options: server.Options{URL: address, Memory: r.Memory, Network: p.Network}, Timeout: timeout,
	})
	switch {
	case err != nil:
		return nil, err
	case answer.Status >= 400:
		return nil, fmt.Errorf("error response: %w", answer.Refusal())
	case !answer.OK():
		return nil, answer.Refusal()
	}
	return parse(answer)
}

type series struct {
	Datapoints [][]json.RawMessage `json:"datapoints"`
}

// parse reads the values of the first series. Points without a value are left out.
func parse(answer server.Answer) ([]float64, error) {
	var all []series
	if err := answer.Decode(&all); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errNone
	}
	values := []float64{}
	for i, point := range all[0].Datapoints {
		if len(point) != 2 {
			return nil, fmt.Errorf("point %d of the series has %d parts, not a value and a time", i, len(point))
		}
		text := strings.Trim(string(point[0]), `"`)
		if text == "null" {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("point %d of the series: %s is not a number", i, point[0])
		}
		values = append(values, value)
	}
	if len(values) == 0 {
		return nil, errNone
	}
	return values, nil
}

var errNone = metric.None("no values found")
