package controller

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/internal/telemetry/trace"
)

// flushing is how long a controller that stops goes on sending traces.
const flushing = 2 * time.Second

// startTraces starts to export traces of updates, if an endpoint is set.
func startTraces(ctx context.Context, o Options, log *slog.Logger) (*trace.Updates, error) {
	var none *trace.Updates // does nothing
	if o.TracesEndpoint == "" {
		return none, nil
	}
	return trace.Export(ctx, clock.RealClock{}, o.TracesEndpoint, log)
}

// endTraces sends what has not been sent. The lease has been given back by then, so nobody waits for it.
func endTraces(traces *trace.Updates, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), flushing)
	defer cancel()
	if err := traces.Flush(ctx); err != nil {
		log.Warn("the last traces were not sent", "error", err)
	}
}
