package cloudwatch

import (
	"encoding/xml"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// results are what was answered so far.
type results struct {
	series   []series
	messages []message
}

type series struct {
	ID         string      `xml:"Id"`
	Label      string      `xml:"Label"`
	StatusCode string      `xml:"StatusCode"`
	Values     []float64   `xml:"Values>member"`
	Timestamps []time.Time `xml:"Timestamps>member"`
	Messages   []message   `xml:"Messages>member"`
}

type message struct {
	Code  string `xml:"Code"`
	Value string `xml:"Value"`
}

type page struct {
	XMLName  xml.Name  `xml:"GetMetricDataResponse"`
	Series   []series  `xml:"GetMetricDataResult>MetricDataResults>member"`
	Messages []message `xml:"GetMetricDataResult>Messages>member"`
	Next     string    `xml:"GetMetricDataResult>NextToken"`
}

type failure struct {
	XMLName xml.Name `xml:"ErrorResponse"`
	Code    string   `xml:"Error>Code"`
	Message string   `xml:"Error>Message"`
}

// read takes in a part of the answer, and returns the token of the next one.
func (all *results) read(answer server.Answer) (next string, err error) {
	if !answer.OK() {
		var f failure
		if xml.Unmarshal(answer.Body, &f) == nil && f.Code != "" {
			return "", fmt.Errorf("it answered %d: api error %s: %s", answer.Status, f.Code, f.Message)
		}
		return "", answer.Refusal()
	}
	var p page
	if err := xml.Unmarshal(answer.Body, &p); err != nil {
		return "", fmt.Errorf("the answer is not a GetMetricDataResponse: %w: %s", err, answer.Excerpt())
	}
	for _, s := range p.Series {
		i := slices.IndexFunc(all.series, func(have series) bool { return have.ID == s.ID && have.Label == s.Label })
		if i < 0 {
			all.series = append(all.series, s)
			continue
		}
		have := &all.series[i]
		have.StatusCode = s.StatusCode
		have.Values, have.Timestamps = append(have.Values, s.Values...), append(have.Timestamps, s.Timestamps...)
		have.Messages = append(have.Messages, s.Messages...)
	}
	all.messages = append(all.messages, p.Messages...)
	return p.Next, nil
}
