package trace

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// Updates reports updates as traces.
type Updates struct {
	clock    clock.PassiveClock
	provider *sdktrace.TracerProvider
	tracer   oteltrace.Tracer

	mu sync.Mutex
	// open are the spans that have begun, by the Rollout.
	open map[types.NamespacedName]open
}

// open are the spans of one update that have begun and not ended.
type open struct {
	at                 Place
	update, step, wait oteltrace.Span
}

// New returns Updates. Options say where the spans go.
func New(clk clock.PassiveClock, options ...sdktrace.TracerProviderOption) *Updates {
	provider := sdktrace.NewTracerProvider(append(options, sdktrace.WithIDGenerator(ids{}))...)
	return &Updates{
		clock: clk, provider: provider, tracer: provider.Tracer("github.com/sluice-delivery/sluice"),
		open: map[types.NamespacedName]open{},
	}
}

// Begin begins a pass over a Rollout as it was seen, with the plan that is to be carried out. What is sent with the context it
// returns belongs to the pass. The second result is to be called when the plan was carried out, or was not.
func (u *Updates) Begin(ctx context.Context, seen *v1alpha1.Rollout, next plan.Plan) (context.Context, func(error)) {
	if u == nil {
		return ctx, func(error) {}
	}
	key := types.NamespacedName{Namespace: seen.Namespace, Name: seen.Name}
	now := u.clock.Now()
	is := u.move(key, seen, At(seen), now, true)
	if !next.Writes() {
		return ctx, func(error) {}
	}
	p := &pass{began: now, notes: next.Notes}
	return context.WithValue(ctx, passKey{}, p), func(err error) {
		ended := u.clock.Now()
		if err != nil || next.Record == nil {
			u.tell(is, p, ended, err)
			return
		}
		to := next.Record.To
		then := At(to)
		if then.Update != is.at.Update && !then.Update.none() { // the pass that begins an update belongs to it
			is = u.move(key, to, then, p.began, false)
		}
		u.tell(is, p, ended, nil)
		u.move(key, to, then, ended, false)
	}
}

// deleted is how an update ends whose Rollout is gone. No status will ever say so.
const deleted v1alpha1.CompletionStatus = "Deleted"

// Forget ends the trace of a Rollout that was deleted.
func (u *Updates) Forget(key types.NamespacedName) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	was := u.open[key]
	delete(u.open, key)
	was.end(Place{}, deleted, u.clock.Now())
}

// Flush shuts the exporter down after sending what is buffered. Updates that are still in progress are left to the next controller.
func (u *Updates) Flush(ctx context.Context) error {
	if u == nil {
		return nil
	}
	return u.provider.Shutdown(ctx)
}

// move has a Rollout stand where it stands now: spans of what it has left end, those of where it is begin. resumed says that nobody
// saw it come there.
func (u *Updates) move(key types.NamespacedName, ro *v1alpha1.Rollout, to Place, now time.Time, resumed bool) open {
	u.mu.Lock()
	defer u.mu.Unlock()
	is := u.open[key]
	if is.at == to {
		return is
	}
	is = is.end(to, outcome(is.at.Update, ro), now)
	if to.Update.none() {
		delete(u.open, key)
		return is
	}
	resumed = resumed && is.update == nil // else this controller has followed it, and a person has brought it here
	if is.update == nil {
		is.update = u.begin(withIDs(context.Background(), to.Update, Step{}), "update "+ro.Name, earlier(now, to.Update.began()), resumed, describe(ro)...)
	}
	since := now
	if pauses := ro.Status.PauseConditions; resumed && len(pauses) > 0 {
		since = earlier(now, pauses[0].StartTime.Time)
	}
	ctx := oteltrace.ContextWithSpan(context.Background(), is.update)
	if is.step == nil && to.Step != (Step{}) {
		name, asks := stepSpan(ro, to.Step)
		is.step = u.begin(withIDs(ctx, to.Update, to.Step), name, since, resumed, attribute.String("sluice.step", asks))
	}
	if is.step != nil {
		ctx = oteltrace.ContextWithSpan(ctx, is.step)
	}
	if is.wait == nil && to.Wait != "" {
		is.wait = u.begin(ctx, "wait: "+to.Wait, since, resumed)
	}
	is.at = to
	u.open[key] = is
	return is
}

// begin starts a span. The caller says if it resumes one.
func (u *Updates) begin(ctx context.Context, name string, at time.Time, resumed bool, about ...attribute.KeyValue) oteltrace.Span {
	if resumed {
		about = append(about, attribute.Bool("sluice.resumed", true))
	}
	_, span := u.tracer.Start(ctx, name, oteltrace.WithTimestamp(at), oteltrace.WithAttributes(about...))
	return span
}

// end ends the spans of what is left behind on the way to another place, and returns the rest.
func (o open) end(to Place, outcome v1alpha1.CompletionStatus, now time.Time) open {
	at := oteltrace.WithTimestamp(now)
	if o.wait != nil && o.at != to {
		o.wait.End(at)
		o.wait = nil
	}
	if o.step != nil && (o.at.Step != to.Step || o.at.Update != to.Update) {
		o.step.End(at)
		o.step = nil
	}
	if o.update == nil || o.at.Update == to.Update {
		return o
	}
	o.update.SetAttributes(attribute.String("sluice.outcome", string(outcome)))
	if outcome == v1alpha1.CompletionAborted {
		o.update.SetStatus(codes.Error, "the update was aborted")
	}
	o.update.End(at)
	return open{}
}

// describe tells whose update it is.
func describe(ro *v1alpha1.Rollout) []attribute.KeyValue {
	about := []attribute.KeyValue{
		attribute.String("k8s.namespace.name", ro.Namespace),
		attribute.String("sluice.rollout.name", ro.Name),
		attribute.String("sluice.rollout.uid", string(ro.UID)),
		attribute.String("sluice.revision", ro.Annotations[v1alpha1.RevisionAnnotation]),
		attribute.String("sluice.version", ro.Status.CurrentPodHash),
		attribute.String("sluice.stable", ro.Status.StableRS),
	}
	var images []string
	for _, c := range ro.Spec.Template.Spec.Containers {
		images = append(images, c.Image)
	}
	return append(about, attribute.StringSlice("container.image.names", images))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
