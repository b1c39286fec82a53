package trace

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

var (
	epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	web   = types.NamespacedName{Namespace: "shop", Name: "web"}
)

// world is a Rollout, the controllers that work on it one after the other, and what a collector got of them.
type world struct {
	t        *testing.T
	clock    *clocktesting.FakePassiveClock
	exporter *tracetest.InMemoryExporter
	updates  *Updates
	api      http.RoundTripper
	rollout  *v1alpha1.Rollout
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, clock: clocktesting.NewFakePassiveClock(epoch), exporter: tracetest.NewInMemoryExporter()}
	w.rollout = &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name, UID: "uid"}}
	w.rollout.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{Steps: []v1alpha1.CanaryStep{
		{SetWeight: new(int32(20))}, {Pause: &v1alpha1.RolloutPause{}},
	}}
	w.rollout.Status = v1alpha1.RolloutStatus{StableRS: "old", CurrentPodHash: "old", Phase: v1alpha1.RolloutPhaseHealthy}
	w.restart()
	return w
}

// restart has another controller take the place of the one that ran.
func (w *world) restart() {
	w.updates = New(w.clock, sdktrace.WithSyncer(w.exporter))
	w.api = w.updates.NoteWrites(answering{})
}

// answering answers every request with 201.
type answering struct{}

func (answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusCreated}, nil
}

// pass plays a pass a second later that writes a ReplicaSet and then what becomes of the status.
func (w *world) pass(becomes func(*v1alpha1.RolloutStatus), err error) {
	w.t.Helper()
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	seen := w.rollout
	to := seen.DeepCopy()
	becomes(&to.Status)
	next := plan.Plan{Record: &plan.Record{From: seen, To: to}, Notes: []change.Note{{Topic: change.TopicStep, Text: "decided"}}}
	ctx, tell := w.updates.Begin(w.t.Context(), seen, next)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		request, problem := http.NewRequestWithContext(ctx, method, "https://127.0.0.1/apis/apps/v1/namespaces/shop/replicasets", nil)
		if problem != nil {
			w.t.Fatal(problem)
		}
		if _, problem := w.api.RoundTrip(request); problem != nil { //nolint:bodyclose // there is none
			w.t.Fatal(problem)
		}
	}
	tell(err)
	if err == nil {
		w.rollout = to
	}
}

// begins, step, pauses and ends are what becomes of a status.
func (w *world) begins(hash string) func(*v1alpha1.RolloutStatus) {
	now := metav1.NewTime(w.clock.Now().Add(time.Second))
	return func(s *v1alpha1.RolloutStatus) {
		s.CurrentPodHash, s.Phase, s.CurrentStepIndex, s.PauseConditions = hash, v1alpha1.RolloutPhaseProgressing, new(int32), nil
		s.Duration = &v1alpha1.RolloutDuration{RolloutStartedAt: &now}
	}
}

func (w *world) step(index int32, pause v1alpha1.PauseReason) func(*v1alpha1.RolloutStatus) {
	now := metav1.NewTime(w.clock.Now().Add(time.Second))
	return func(s *v1alpha1.RolloutStatus) {
		s.CurrentStepIndex, s.PauseConditions, s.Phase = &index, nil, v1alpha1.RolloutPhaseProgressing
		if pause != "" {
			s.PauseConditions, s.Phase = []v1alpha1.PauseCondition{{Reason: pause, StartTime: now}}, v1alpha1.RolloutPhasePaused
		}
	}
}

func (w *world) ends(how v1alpha1.CompletionStatus) func(*v1alpha1.RolloutStatus) {
	now := metav1.NewTime(w.clock.Now().Add(time.Second))
	return func(s *v1alpha1.RolloutStatus) {
		s.Duration.FinishedAt, s.Duration.CompletionStatus = &now, how
	}
}

// told is what the collector got, as a tree. Every span is of a trace that has a root.
func (w *world) told() string {
	w.t.Helper()
	spans := w.exporter.GetSpans()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	below := map[oteltrace.SpanID]tracetest.SpanStubs{}
	seen := map[oteltrace.SpanID]bool{}
	for _, s := range spans {
		if seen[s.SpanContext.SpanID()] {
			w.t.Errorf("%s was told twice", s.Name)
		}
		seen[s.SpanContext.SpanID()] = true
		below[s.Parent.SpanID()] = append(below[s.Parent.SpanID()], s)
	}
	for parent, children := range below {
		if parent.IsValid() && !seen[parent] {
			w.t.Errorf("%s has a parent that was not told", children[0].Name)
		}
	}
	var text strings.Builder
	var show func(parent tracetest.SpanStub, depth int)
	show = func(parent tracetest.SpanStub, depth int) {
		for _, s := range below[parent.SpanContext.SpanID()] {
			if parent.SpanContext.IsValid() && s.SpanContext.TraceID() != parent.SpanContext.TraceID() {
				w.t.Errorf("%s is of another trace than its parent", s.Name)
			}
			fmt.Fprintf(&text, "%s%s %s-%s", strings.Repeat("  ", depth), s.Name, s.StartTime.Sub(epoch), s.EndTime.Sub(epoch))
			for _, a := range s.Attributes {
				if a.Key == "sluice.outcome" || a.Key == "sluice.resumed" {
					fmt.Fprintf(&text, " %s=%s", strings.TrimPrefix(string(a.Key), "sluice."), a.Value.Emit())
				}
			}
			if s.Status.Description != "" {
				fmt.Fprintf(&text, " (%s)", s.Status.Description)
			}
			text.WriteString("\n")
			show(s, depth+1)
		}
	}
	show(tracetest.SpanStub{}, 0)
	return text.String()
}

func (w *world) check(want string) {
	w.t.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), w.told()); diff != "" {
		w.t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestAnUpdateIsATrace(t *testing.T) {
	w := newWorld(t)
	w.pass(func(*v1alpha1.RolloutStatus) {}, nil) // scaling is no update
	w.pass(w.begins("new"), nil)
	w.pass(w.step(1, v1alpha1.PauseReasonCanaryPauseStep), nil)
	w.pass(w.step(2, ""), nil)
	w.pass(w.ends(v1alpha1.CompletionPromoted), nil)
	w.pass(func(*v1alpha1.RolloutStatus) {}, nil)
	w.check(`
update web 2s-5s outcome=Promoted
  step 1: setWeight 2s-3s
    pass 2s-2s
      POST replicasets 2s-2s
    wait: pods 2s-3s
    pass 3s-3s
      POST replicasets 3s-3s
  step 2: pause 3s-4s
    wait: CanaryPauseStep 3s-4s
    pass 4s-4s
      POST replicasets 4s-4s
  wait: pods 4s-5s
  pass 5s-5s
    POST replicasets 5s-5s
`)
}

// A controller that is killed in the middle of an update is followed by one that tells the rest of the same trace.
func TestARestartGoesOnWithTheTrace(t *testing.T) {
	w := newWorld(t)
	w.pass(w.begins("new"), nil)
	w.pass(w.step(1, v1alpha1.PauseReasonCanaryPauseStep), nil)
	w.restart()
	w.pass(w.step(2, ""), nil)
	w.pass(w.ends(v1alpha1.CompletionAborted), nil)
	w.check(`
update web 1s-4s resumed=true outcome=Aborted (the update was aborted)
  step 1: setWeight 1s-2s
    pass 1s-1s
      POST replicasets 1s-1s
    wait: pods 1s-2s
    pass 2s-2s
      POST replicasets 2s-2s
  step 2: pause 2s-3s resumed=true
    wait: CanaryPauseStep 2s-3s resumed=true
    pass 3s-3s
      POST replicasets 3s-3s
  wait: pods 3s-4s
  pass 4s-4s
    POST replicasets 4s-4s
`)
}

func TestAnUpdateThatIsSuperseded(t *testing.T) {
	w := newWorld(t)
	w.pass(w.begins("new"), nil)
	w.pass(w.begins("newer"), nil)
	w.pass(w.ends(v1alpha1.CompletionPromoted), nil)
	w.check(`
update web 1s-2s outcome=Superseded
  step 1: setWeight 1s-2s
    pass 1s-1s
      POST replicasets 1s-1s
    wait: pods 1s-2s
update web 2s-3s outcome=Promoted
  step 1: setWeight 2s-3s
    pass 2s-2s
      POST replicasets 2s-2s
    wait: pods 2s-3s
    pass 3s-3s
      POST replicasets 3s-3s
`)
}

// A pass that fails is told with its error; one that was to begin an update is not, because the next one will.
func TestAPassThatFails(t *testing.T) {
	w := newWorld(t)
	w.pass(w.begins("new"), errors.New("a conflict"))
	w.pass(w.begins("new"), nil)
	w.pass(w.step(1, ""), errors.New("a conflict"))
	w.pass(w.ends(v1alpha1.CompletionPromoted), nil)
	w.check(`
update web 2s-4s outcome=Promoted
  step 1: setWeight 2s-4s
    pass 2s-2s
      POST replicasets 2s-2s
    wait: pods 2s-4s
    pass 3s-3s (a conflict)
      POST replicasets 3s-3s
    pass 4s-4s
      POST replicasets 4s-4s
`)
}

func TestARolloutThatIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.pass(w.begins("new"), nil)
	w.updates.Forget(web)
	w.check(`
update web 1s-1s outcome=Deleted
  step 1: setWeight 1s-1s
    pass 1s-1s
      POST replicasets 1s-1s
    wait: pods 1s-1s
`)
	if len(w.updates.open) != 0 {
		t.Errorf("%d updates are open", len(w.updates.open))
	}
}

// What nobody asked for does nothing.
func TestWithoutUpdates(t *testing.T) {
	var none *Updates
	ctx, tell := none.Begin(t.Context(), nil, plan.Plan{})
	tell(nil)
	none.Forget(web)
	if next := none.NoteWrites(answering{}); ctx != t.Context() || next != (answering{}) {
		t.Error("something was wrapped")
	}
	if err := none.Flush(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestEndpoint(t *testing.T) {
	const general, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for name, c := range map[string]struct {
		flag string
		env  map[string]string
		want string
		says string
	}{
		"nothing is asked for":        {},
		"the flag":                    {flag: "http://a:4317", env: map[string]string{general: "http://b:4317"}, want: "http://a:4317"},
		"the variable":                {env: map[string]string{general: "https://b:4317"}, want: "https://b:4317"},
		"the variable for traces":     {env: map[string]string{general: "http://b:4317", traces: "http://c:4317"}, want: "http://c:4317"},
		"switched off":                {env: map[string]string{general: "http://b:4317", "OTEL_SDK_DISABLED": "true"}},
		"no traces":                   {env: map[string]string{general: "http://b:4317", "OTEL_TRACES_EXPORTER": "none"}},
		"grpc":                        {env: map[string]string{general: "http://b:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, want: "http://b:4317"},
		"no scheme":                   {flag: "collector:4317", says: `--otlp-endpoint "collector:4317" is not a valid address`},
		"no scheme, in the variable":  {env: map[string]string{general: "127.0.0.1:4317"}, says: `$OTEL_EXPORTER_OTLP_ENDPOINT "127.0.0.1:4317"`},
		"a protocol that is not ours": {flag: "http://a:4318", env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, says: `"http/protobuf": traces are sent by grpc`},
		"another exporter":            {flag: "http://a:4317", env: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, says: `"zipkin"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Endpoint(c.flag, func(name string) string { return c.env[name] })
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("want an error that says %s, got %v", c.says, err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("got %q (%v), want %q", got, err, c.want)
			}
		})
	}
}
