package metric

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Provider measures.
type Provider interface {
	// Measure measures once. An error is why there is no measurement, in words for the user; it may be made again.
	Measure(ctx context.Context, r Request) (Reading, error)
}

// Asynchronous is a provider whose measurements take their time: Measure returns a Reading that is Running.
type Asynchronous interface {
	// Resume checks the measurement that r.Begun describes.
	Resume(ctx context.Context, r Request) (Reading, error)
	// Stop ends the measurement in r.Begun. Stopping one that has ended, or is gone, is not an error. [ErrUnderway]: ask again a little later.
	Stop(ctx context.Context, r Request) error
}

// ErrUnderway is the error of Stop while a measurement is being ended.
var ErrUnderway = errors.New("the measurement is being ended")

// Tidy is a provider whose measurements leave something behind, which goes when they are kept no longer.
type Tidy interface {
	// Forget deletes what the measurement that r.Begun describes has left.
	Forget(ctx context.Context, r Request) error
}

// Request asks for a measurement.
type Request struct {
	Run Run
	// Metric has the values of its arguments filled in.
	Metric v1alpha1.Metric
	// Number is 1 for the first measurement of the metric.
	Number int
	// Begun is what is recorded of a measurement that is under way, or was made; nil for a new one.
	Begun *v1alpha1.Measurement
	// Memory is asked before an answer is read; nil for no bound.
	Memory Memory
	// Keys are where credentials are read that the metric only names; nil where there are none.
	Keys *Keys
}

// Memory bounds what the answers of all measurements take together.
type Memory interface {
	// Grow takes n bytes more for this measurement's answer. It waits until they are free, or ctx ends.
	Grow(ctx context.Context, n int64) error
}

// LongestTimeout is how long a measurement may wait for its server. A longer timeout is shortened to it.
const LongestTimeout = v1alpha1.MaxTimeoutSeconds * time.Second

// Asked is where a measurement says what was asked: the query, the server and the window.
const Asked = "asked"

// Measured is a reading with a value, and what was asked for it.
func Measured(question string, value any, text string) Reading {
	return Reading{Value: value, Text: text, Question: question, Metadata: map[string]string{Asked: question}}
}

// Nothing is the reading of an answer without data. That is an error, unless the metric says how it counts.
func (r Request) Nothing(question string, err error) (Reading, error) {
	if r.Metric.WhenNoData != "" {
		return Measured(question, nil, ""), nil
	}
	return Reading{}, fmt.Errorf("%s: %w", question, err)
}

// ShortenedTimeout is where a measurement tells in its metadata that its timeout was shortened.
const ShortenedTimeout = "timeout"

// Timeout is how long to wait for a server for which a metric sets seconds, 0 for the default. The warning is not empty if it is shortened.
func Timeout(field string, seconds int64, otherwise time.Duration) (timeout time.Duration, warning string) {
	switch longest := int64(LongestTimeout / time.Second); {
	case seconds <= 0:
		return otherwise, ""
	case seconds > longest:
		return LongestTimeout, fmt.Sprintf("%s %d is shortened to %d, the longest that a measurement may wait", field, seconds, longest)
	}
	return time.Duration(seconds) * time.Second, ""
}

// Window is how far back a query looks; field is what sets it.
func Window(field string, length v1alpha1.DurationString, otherwise time.Duration) (time.Duration, error) {
	if length == "" {
		return otherwise, nil
	}
	d, err := length.Duration()
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`%s %q is not a duration: write for example "5m"`, field, length)
	}
	return d, nil
}

// Run is the AnalysisRun that a measurement is for.
type Run struct {
	Namespace, Name string
	UID             types.UID
	// StartedAt is when it began; zero before that is known.
	StartedAt time.Time
	// Object is the AnalysisRun itself, for plugins. It must not be modified.
	Object *v1alpha1.AnalysisRun
	// Kept is how many measurements of the metric are kept.
	Kept int
}

// Reading is what came of a measurement.
type Reading struct {
	// Phase is empty where the metric's conditions judge Value, Running for a measurement that takes time, and otherwise the verdict.
	Phase v1alpha1.AnalysisPhase
	// Value is what was measured, Text how it is shown.
	Value any
	Text  string
	// Question is what was asked, for messages: `query "up"`.
	Question string
	// Message is why it ended like that, or what it waits for.
	Message string
	// ResumeAt is when to check a measurement that takes time.
	ResumeAt time.Time
	// Metadata is reported for the measurement, About for the metric.
	Metadata, About map[string]string
}

// Shortened adds the warning of Timeout to an error, if there is one.
func Shortened(err error, warning string) error {
	if warning == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, warning)
}
