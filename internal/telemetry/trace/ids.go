package trace

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	oteltrace "go.opentelemetry.io/otel/trace"
)

// traceID is the ID of an update's trace, the same in every controller that reports it.
func (u Update) traceID() oteltrace.TraceID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", u.UID, u.Hash, u.Began))
	return oteltrace.TraceID(sum[:16])
}

// spanID is that of a span which outlives a controller: the update itself, or one of its steps.
func (u Update) spanID(s Step) oteltrace.SpanID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d/%s/%d", u.UID, u.Hash, u.Began, s.Hash, s.Number))
	return oteltrace.SpanID(sum[:8])
}

// known are the IDs that a span is to get.
type known struct {
	trace oteltrace.TraceID
	span  oteltrace.SpanID
}

type knownKey struct{}

func withIDs(ctx context.Context, u Update, s Step) context.Context {
	return context.WithValue(ctx, knownKey{}, known{u.traceID(), u.spanID(s)})
}

// ids gives spans the IDs that their context has, and the rest random ones.
type ids struct{}

// NewIDs returns the IDs of a trace and its first span.
func (ids) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	if k, ok := ctx.Value(knownKey{}).(known); ok {
		return k.trace, k.span
	}
	var id oteltrace.TraceID
	_, _ = rand.Read(id[:]) // never fails
	return id, ids{}.NewSpanID(ctx, id)
}

// NewSpanID returns the ID of a further span.
func (ids) NewSpanID(ctx context.Context, _ oteltrace.TraceID) oteltrace.SpanID {
	if k, ok := ctx.Value(knownKey{}).(known); ok {
		return k.span
	}
	var id oteltrace.SpanID
	_, _ = rand.Read(id[:]) // never fails
	return id
}
