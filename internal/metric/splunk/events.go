package splunk

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// event is one of the stream: server-sent events, whose data is JSON over several lines.
type event struct{ name, data string }

// message is the data of an event, of which each kind has some fields.
type message struct {
	Event string `json:"event"`
	Abort *struct {
		Reason string `json:"sf_job_abortReason"`
		State  string `json:"sf_job_abortState"`
	} `json:"abortInfo"`
	Data []struct {
		Series string   `json:"tsId"`
		Value  *float64 `json:"value"`
	} `json:"data"`
	// Error is a code, Errors a list of codes and their contexts; Message is a text for errors, and an object for information.
	Error   json.RawMessage `json:"error"`
	Errors  json.RawMessage `json:"errors"`
	Message json.RawMessage `json:"message"`
}

// parse reads the last value of each series, in the order in which they came first.
func parse(answer server.Answer) ([]float64, error) {
	if trimmed := strings.TrimSpace(string(answer.Body)); !strings.HasPrefix(trimmed, "event:") && !strings.HasPrefix(trimmed, "data:") {
		return nil, fmt.Errorf("the answer is not a stream of events: %s", answer.Excerpt())
	}
	var values []float64
	place := map[string]int{}
	ended := false
	for _, e := range events(string(answer.Body)) {
		var m message
		if err := json.Unmarshal([]byte(e.data), &m); err != nil {
			return nil, fmt.Errorf("an event is not JSON: %w", err)
		}
		switch {
		case e.name == "error", len(m.Error) > 0, len(m.Errors) > 0:
			return nil, fmt.Errorf("the program failed: %s", metric.OneLine(strings.Trim(string(m.Message), `"`)+" "+string(m.Error)+" "+string(m.Errors)))
		case m.Abort != nil, m.Event == "CHANNEL_ABORT":
			return nil, fmt.Errorf("the program was aborted: %s", reasonOf(m))
		case m.Event == "END_OF_CHANNEL":
			ended = true
		}
		for _, point := range m.Data {
			if point.Value == nil {
				continue
			}
			i, known := place[point.Series]
			if !known {
				i = len(values)
				place[point.Series], values = i, append(values, 0)
			}
			values[i] = *point.Value
		}
	}
	switch {
	case !ended:
		return nil, errors.New("the answer was cut off before the program ended")
	case len(values) == 0:
		return nil, errNone
	}
	return values, nil
}

func reasonOf(m message) string {
	if m.Abort == nil || m.Abort.Reason+m.Abort.State == "" {
		return "no reason is given"
	}
	return strings.TrimSpace(m.Abort.State + " " + m.Abort.Reason)
}

// events splits a stream at its empty lines. What has no data, such as a comment that keeps the connection open, is none.
func events(stream string) []event {
	var all []event
	var now event
	end := func() {
		if now.data != "" {
			all = append(all, now)
		}
		now = event{}
	}
	for line := range strings.Lines(stream) {
		line = strings.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "":
			end()
		case name == "event":
			now.name = strings.TrimSpace(value)
		case name == "data":
			now.data += strings.TrimPrefix(value, " ") + "\n"
		}
	}
	end()
	return all
}

var errNone = metric.None("no values found")
