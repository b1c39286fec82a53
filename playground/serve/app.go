package serve

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Image is the repository of the images that are served: "sluice-playground/http:v2".
const Image = "sluice-playground/http"

// Annotations of a pod that say how its server answers. They take precedence over the image's tag.
const (
	// ErrorsAnnotation is the percentage of requests that are answered with 500: "5", "0.5".
	ErrorsAnnotation = "playground.sluice.dev/http-errors"
	// LatencyAnnotation is how long an answer takes.
	LatencyAnnotation = "playground.sluice.dev/http-latency"
	// LeakAnnotation is how long after its start a server answers nothing but 500: the share of errors grows from none to all until then.
	LeakAnnotation = "playground.sluice.dev/http-leak"
	// CostAnnotation is the processor time that the resource-metrics API reports for each request, 1ms by default.
	CostAnnotation = "playground.sluice.dev/http-cpu"
)

// App is how a server behaves.
type App struct {
	// Version is the image's tag; every answer carries it in the header X-Version.
	Version string
	// Errors is the share of requests that are answered with 500, 0 to 1.
	Errors float64
	// Latency is how long an answer takes.
	Latency time.Duration
	// Leak is after how long all requests fail, more and more of them until then. Zero: never.
	Leak time.Duration
	// Start is how long after its container has started the server listens. Zero: the caller decides.
	Start time.Duration
	// Cost is the processor time that a request counts as. No time is spent. Zero: a millisecond.
	Cost time.Duration
}

// Parse reads how the server of an image behaves. It reports false if the image is no server's.
//
// The tag has a name and, after hyphens, words for what differs from a good version: "v2", "v2-err5" (5 % errors), "v2-lat200ms", "v2-start5s",
// "v2-leak60s", "v2-cpu20ms". A word that is none of these belongs to the name.
func Parse(image string, annotations map[string]string) (app App, serves bool, problem error) {
	tag, serves := strings.CutPrefix(image, Image+":")
	if !serves {
		return App{}, false, nil
	}
	app.Version = tag
	for _, word := range strings.Split(tag, "-")[1:] {
		app.read(word)
	}
	for name, set := range map[string]func(string) error{
		ErrorsAnnotation:  app.setErrors,
		LatencyAnnotation: durationInto(&app.Latency),
		LeakAnnotation:    durationInto(&app.Leak),
		CostAnnotation:    durationInto(&app.Cost),
	} {
		if text, given := annotations[name]; given {
			if err := set(text); err != nil {
				problem = fmt.Errorf("annotation %s: %w", name, err)
			}
		}
	}
	return app, true, problem
}

func (a *App) read(word string) {
	for prefix, set := range map[string]func(string) error{
		"err": a.setErrors, "lat": durationInto(&a.Latency), "leak": durationInto(&a.Leak), "start": durationInto(&a.Start), "cpu": durationInto(&a.Cost),
	} {
		if rest, ok := strings.CutPrefix(word, prefix); ok && set(rest) == nil {
			return
		}
	}
}

func (a *App) setErrors(text string) error {
	percent, err := strconv.ParseFloat(text, 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return fmt.Errorf("%q is not a percentage such as 5 or 0.5", text)
	}
	a.Errors = percent / 100
	return nil
}

func durationInto(to *time.Duration) func(string) error {
	return func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return fmt.Errorf("%q is not a duration such as 200ms or 1m30s", text)
		}
		*to = d
		return nil
	}
}

// failing is the share of errors at this time after the start.
func (a App) failing(since time.Duration) float64 {
	if a.Leak <= 0 {
		return a.Errors
	}
	return min(1, max(a.Errors, float64(since)/float64(a.Leak)))
}
