package trace

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

// pass is a pass under way. It is told when it has ended: not before is it known whose it was.
type pass struct {
	began time.Time
	notes []change.Note

	mu     sync.Mutex
	writes []write
}

// write is one request of a pass.
type write struct {
	method, resource, name string
	began, ended           time.Time
	status                 int
	err                    error
}

type passKey struct{}

// tell reports a reconcile, as a child of the step or the update that it belongs to.
func (u *Updates) tell(is open, p *pass, ended time.Time, err error) {
	if is.update == nil { // scaling, or the first version
		return
	}
	parent := is.update
	if is.step != nil {
		parent = is.step
	}
	ctx, span := u.tracer.Start(oteltrace.ContextWithSpan(context.Background(), parent), "pass", oteltrace.WithTimestamp(p.began))
	for _, n := range p.notes {
		attributes := []attribute.KeyValue{attribute.String("topic", string(n.Topic)), attribute.String("reason", n.Reason)}
		if n.Promise.Name != "" {
			attributes = append(attributes, attribute.String("promise", n.Promise.Name))
		}
		span.AddEvent(n.Text, oteltrace.WithTimestamp(p.began), oteltrace.WithAttributes(attributes...))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.writes {
		u.tellWrite(ctx, w)
	}
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End(oteltrace.WithTimestamp(ended))
}

func (u *Updates) tellWrite(ctx context.Context, w write) {
	_, span := u.tracer.Start(ctx, w.method+" "+w.resource, oteltrace.WithTimestamp(w.began), oteltrace.WithSpanKind(oteltrace.SpanKindClient),
		oteltrace.WithAttributes(
			attribute.String("http.request.method", w.method),
			attribute.Int("http.response.status_code", w.status),
			attribute.String("sluice.object", w.name),
		))
	switch {
	case w.err != nil:
		span.SetStatus(codes.Error, w.err.Error())
	case w.status >= http.StatusBadRequest:
		span.SetStatus(codes.Error, http.StatusText(w.status))
	}
	span.End(oteltrace.WithTimestamp(w.ended))
}

// NoteWrites wraps what sends requests to the API server, and notes those of passes that write.
func (u *Updates) NoteWrites(next http.RoundTripper) http.RoundTripper {
	if u == nil {
		return next
	}
	return noting{next: next, updates: u}
}

type noting struct {
	next    http.RoundTripper
	updates *Updates
}

// RoundTrip sends a request, and notes a write.
func (n noting) RoundTrip(r *http.Request) (*http.Response, error) {
	p, ok := r.Context().Value(passKey{}).(*pass)
	if !ok || r.Method == http.MethodGet {
		return n.next.RoundTrip(r)
	}
	target := telemetry.TargetOf(r)
	w := write{method: r.Method, resource: target.Resource, name: target.Name, began: n.updates.clock.Now()}
	response, err := n.next.RoundTrip(r)
	w.ended, w.err = n.updates.clock.Now(), err
	if err == nil {
		w.status = response.StatusCode
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, w)
	return response, err
}
