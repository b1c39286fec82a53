package datadog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// What a measurement says of groups.
const (
	// groupsKey has the groups with their values, truncatedKey that there are more.
	groupsKey    = "groups"
	truncatedKey = "groups_truncated"
	// mostGroups is how many groups are listed: half of them those with the lowest values, half those with the highest.
	mostGroups = 100
)

type scalarQuery struct {
	Aggregator string `json:"aggregator"`
	DataSource string `json:"data_source"`
	Name       string `json:"name"`
	Query      string `json:"query"`
}

type formula struct {
	Formula string `json:"formula"`
}

type attributes struct {
	From     int64         `json:"from"`
	To       int64         `json:"to"`
	Queries  []scalarQuery `json:"queries"`
	Formulas []formula     `json:"formulas"`
}

type scalarRequest struct {
	Data struct {
		Attributes attributes `json:"attributes"`
		Type       string     `json:"type"`
	} `json:"data"`
}

// scalar asks API v2.
func (p Provider) scalar(ctx context.Context, r metric.Request, t task) (metric.Reading, error) {
	a := attributes{From: t.from.UnixMilli(), To: t.to.UnixMilli(), Formulas: []formula{}}
	for _, q := range t.queries {
		a.Queries = append(a.Queries, scalarQuery{Aggregator: cmp.Or(t.Aggregator, "last"), DataSource: "metrics", Name: q.name, Query: q.text})
	}
	if t.Formula != "" {
		a.Formulas = append(a.Formulas, formula{t.Formula})
	}
	var request scalarRequest
	request.Data.Attributes, request.Data.Type = a, "scalar_request"
	body, err := json.Marshal(request)
	if err != nil {
		return metric.Reading{}, err
	}
	answer, err := p.ask(ctx, r, t, server.Question{Options: server.Options{URL: "/api/v2/query/scalar"}, Method: http.MethodPost, Body: body})
	if err != nil {
		return metric.Reading{}, err
	}
	return columns(answer)
}

type column struct {
	Type   string            `json:"type"`
	Values []json.RawMessage `json:"values"`
}

type scalarAnswer struct {
	Data struct {
		Attributes struct {
			Columns []column `json:"columns"`
		} `json:"attributes"`
		Errors json.RawMessage `json:"errors"`
	} `json:"data"`
	Errors json.RawMessage `json:"errors"`
}

// group is a group with its value.
type group struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// columns reads the first column of numbers: one number, or where there are columns of groups a list.
func columns(answer server.Answer) (metric.Reading, error) {
	var all scalarAnswer
	if err := answer.Decode(&all); err != nil {
		return metric.Reading{}, err
	}
	for _, problem := range []json.RawMessage{all.Data.Errors, all.Errors} {
		if text := errorText(problem); text != "" {
			return metric.Reading{}, fmt.Errorf("There were errors in your query: %v", text) //nolint:staticcheck // the text is known
		}
	}
	var numbers *column
	var names []column
	for i, c := range all.Data.Attributes.Columns {
		switch {
		case c.Type == "group":
			names = append(names, c)
		case numbers == nil && (c.Type == "number" || c.Type == ""):
			numbers = &all.Data.Attributes.Columns[i]
		}
	}
	groups, err := values(numbers, names)
	switch {
	case err != nil:
		return metric.Reading{}, err
	case len(groups) == 0:
		return metric.Reading{Text: "[]"}, nil
	case len(names) == 0:
		return metric.Reading{Value: groups[0].Value, Text: strconv.FormatFloat(groups[0].Value, 'f', -1, 64)}, nil
	}
	return grouped(groups)
}

// errorText is what an answer says is wrong: a text, or a list of them.
func errorText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, "; ")
	}
	return ""
}

// values are the values of a column of numbers, with the names of their groups. Those without a value are left out.
func values(numbers *column, names []column) ([]group, error) {
	if numbers == nil {
		return nil, nil
	}
	var all []group
	for i, raw := range numbers.Values {
		if string(raw) == "null" {
			continue
		}
		var value float64
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, fmt.Errorf("could not parse numeric value %q in column %q: %v", raw, numbers.Type, err) //nolint:errorlint // the text is known
		}
		var tags []string
		for _, c := range names {
			label, err := labels(c, i)
			if err != nil {
				return nil, err
			}
			tags = append(tags, label...)
		}
		all = append(all, group{strings.Join(tags, ","), value})
	}
	return all, nil
}

// labels are the tags of a group: a list of texts, or one text.
func labels(c column, i int) ([]string, error) {
	if i >= len(c.Values) {
		return nil, fmt.Errorf("could not parse group label at index %d", i)
	}
	var list []string
	if json.Unmarshal(c.Values[i], &list) == nil {
		return list, nil
	}
	var one string
	if json.Unmarshal(c.Values[i], &one) != nil {
		return nil, fmt.Errorf("could not parse group label at index %d", i)
	}
	return []string{one}, nil
}

func grouped(groups []group) (metric.Reading, error) {
	numbers := make([]float64, len(groups))
	for i, g := range groups {
		numbers[i] = g.Value
	}
	text, err := json.Marshal(numbers)
	if err != nil {
		return metric.Reading{}, errors.New("a value is not a number")
	}
	reading := metric.Reading{Value: numbers, Text: string(text), Metadata: map[string]string{}}
	if len(groups) > mostGroups {
		groups = slices.Clone(groups)
		slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(a.Value, b.Value) })
		groups = slices.Concat(groups[:mostGroups/2], groups[len(groups)-mostGroups/2:])
		reading.Metadata[truncatedKey] = "true"
	}
	listed, err := json.Marshal(groups)
	if err != nil {
		return metric.Reading{}, err
	}
	reading.Metadata[groupsKey] = string(listed)
	return reading, nil
}
