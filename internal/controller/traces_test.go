package controller_test

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// receiver is an OpenTelemetry collector that keeps what it gets.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	address string

	mu    sync.Mutex
	spans []*otlp.Span
	more  chan struct{}
}

func newReceiver(t *testing.T) *receiver {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{address: listener.Addr().String(), more: make(chan struct{}, 1)}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, r)
	go func() { _ = server.Serve(listener) }() // until it is stopped
	t.Cleanup(server.Stop)
	return r
}

func (r *receiver) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range request.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	select {
	case r.more <- struct{}{}:
	default:
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// wait waits until a span of that name has come, and returns all that came.
func (r *receiver) wait(ns *playtest.Namespace, t *testing.T, name string) []*otlp.Span {
	t.Helper()
	return r.waitBeside(ns, t, name, nil)
}

// waitBeside is wait without the spans of one trace.
func (r *receiver) waitBeside(ns *playtest.Namespace, t *testing.T, name string, without []byte) []*otlp.Span {
	t.Helper()
	ctx, cancel := context.WithTimeout(ns.Context(), playtest.Patience)
	defer cancel()
	for {
		r.mu.Lock()
		spans := slices.DeleteFunc(slices.Clone(r.spans), func(s *otlp.Span) bool { return without != nil && bytes.Equal(s.TraceId, without) })
		r.mu.Unlock()
		if slices.ContainsFunc(spans, func(s *otlp.Span) bool { return s.Name == name }) {
			return spans
		}
		select {
		case <-r.more:
		case <-ctx.Done():
			t.Fatalf("the collector never got %q; it got %v", name, names(spans))
		}
	}
}

func names(spans []*otlp.Span) []string {
	var all []string
	for _, s := range spans {
		all = append(all, s.Name)
	}
	return all
}

// One update is one trace, whose every span has its parent, although the controller that began it is killed in its middle.
func TestAnUpdateIsTraced(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50") // milliseconds that spans wait for others
	ns := playtest.New(t)
	r := newReceiver(t)
	ns.StartController("--otlp-endpoint", "http://"+r.address)
	ns.CreateRollout(canary(2, `{steps: [{setWeight: 50}, {pause: {}}]}`))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	first := r.wait(ns, t, "update web")[0].TraceId // the first deployment is an update of its own
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", playtest.AtStep(1))
	r.wait(ns, t, "step 1: setWeight")
	ns.StopController(syscall.SIGKILL)
	ns.StartController("--otlp-endpoint", "http://"+r.address, "--rollout-threads=1")
	ns.Marker() // it has seen the pause
	ns.PatchStatus("web", `{"status": {"pauseConditions": null}}`)
	ns.WaitForRollout("web", "to be Healthy again", playtest.Healthy)
	spans := r.waitBeside(ns, t, "update web", first)

	known, roots := map[string]*otlp.Span{}, 0
	for _, s := range spans {
		if known[string(s.SpanId)] != nil {
			t.Errorf("%s came twice", s.Name)
		}
		known[string(s.SpanId)] = s
	}
	for _, s := range spans {
		if string(s.TraceId) != string(spans[0].TraceId) {
			t.Errorf("%s is of another trace", s.Name)
		}
		switch parent := known[string(s.ParentSpanId)]; {
		case len(s.ParentSpanId) == 0:
			roots++
		case parent == nil:
			t.Errorf("%s has a parent that did not come", s.Name)
		case s.StartTimeUnixNano < parent.StartTimeUnixNano && parent.Name != "update web" && !resumed(parent): // it begins with a whole second
			t.Errorf("%s begins before its parent %s", s.Name, parent.Name)
		}
	}
	if roots != 1 {
		t.Errorf("%d spans have no parent", roots)
	}
	for _, want := range []string{
		"update web", "step 1: setWeight", "step 2: pause", "wait: pods", "wait: CanaryPauseStep", "pass", "POST replicasets", "PATCH rollouts",
	} {
		if !slices.Contains(names(spans), want) {
			t.Errorf("no span is called %q: %v", want, names(spans))
		}
	}
	for _, s := range spans {
		if s.Name == "update web" && !strings.Contains(s.String(), `"Promoted"`) {
			t.Errorf("the update does not say how it ended: %v", s)
		}
	}
}

// resumed reports whether a span was begun by another controller than the one that told it.
func resumed(s *otlp.Span) bool {
	for _, a := range s.Attributes {
		if a.Key == "sluice.resumed" {
			return true
		}
	}
	return false
}
