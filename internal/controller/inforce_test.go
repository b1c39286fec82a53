package controller

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/telemetry"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// gated is a Rollout with a route whose Gateways may be late.
type gated struct {
	*RolloutReconciler
	t     *testing.T
	clock *clocktesting.FakePassiveClock
	ro    *v1alpha1.Rollout
	route *unstructured.Unstructured
	api   *policed
	said  *record.FakeRecorder
}

const waitsFor = time.Minute

func newGated(t *testing.T) *gated {
	t.Helper()
	g := &gated{t: t, clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), ro: &v1alpha1.Rollout{}, said: record.NewFakeRecorder(100)}
	manifest := `{metadata: {namespace: shop, name: web, uid: "1", resourceVersion: "5"}, spec: {strategy: {canary: {trafficRouting: {gatewayAPI: {httpRoute: web}}}}}, status: {stableRS: a, currentPodHash: b, canary: {weights: {canary: {weight: 0}}}}}`
	if err := yaml.Unmarshal([]byte(manifest), g.ro); err != nil {
		t.Fatal(err)
	}
	g.route = sim.HTTPRoute("web", "web-stable")
	g.route.SetNamespace("shop")
	if err := unstructured.SetNestedSlice(g.route.Object, []any{map[string]any{"name": "eg"}}, "spec", "parentRefs"); err != nil {
		t.Fatal(err)
	}
	g.api = &policed{oneObject: oneObject{object: g.ro}}
	g.RolloutReconciler = NewRolloutReconciler(Deps{
		Clock: g.clock, Client: g.api, Live: g.api, Log: slog.New(slog.DiscardHandler), Events: g.said, Meters: telemetry.New(prometheus.NewRegistry(), false), RouteTimeout: waitsFor,
	})
	return g
}

// say has the Gateway say something about a generation of the route.
func (g *gated) say(accepted, resolved string, generation int64) {
	g.t.Helper()
	c := func(kind, status string) any {
		return map[string]any{"type": kind, "status": status, "observedGeneration": generation, "reason": "Because"}
	}
	parents := []any{map[string]any{"parentRef": map[string]any{"name": "eg"}, "conditions": []any{c("Accepted", accepted), c("ResolvedRefs", resolved)}}}
	if err := unstructured.SetNestedSlice(g.route.Object, parents, "status", "parents"); err != nil {
		g.t.Fatal(err)
	}
}

// try carries a plan out, and expects what is awaited and whether the pods that it removes are gone.
func (g *gated) try(when string, route bool, again time.Duration, message string, events int) {
	g.t.Helper()
	to := g.ro.DeepCopy()
	to.Status.Canary.Weights = &v1alpha1.TrafficWeights{Canary: v1alpha1.WeightDestination{Weight: 50}}
	to.Status.Phase, to.Status.Message = v1alpha1.RolloutPhaseHealthy, ""
	p := plan.Plan{
		Grow:   []change.Change{change.UpdateReplicaSet{From: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "grow"}}, To: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "grow"}}}},
		Shrink: []change.Change{change.DeleteReplicaSet{ReplicaSet: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "shrink"}}}},
		Record: &plan.Record{From: g.ro.DeepCopy(), To: to},
	}
	if route {
		p.Route = []change.Change{change.WriteRoute{From: g.route, To: g.route}}
	}
	g.api.done = nil
	seen := plan.Observed{Rollout: g.ro.DeepCopy(), Now: g.clock.Now(), Routes: traffic.Objects{traffic.KeyOf(g.route): g.route}}
	err := g.apply(g.t.Context(), seen, p)
	got, held := waits(err)
	if err != nil && !held {
		g.t.Fatalf("%s: %v", when, err)
	}
	done := strings.Join(g.api.done, "\n")
	if got != again || strings.Contains(done, "shrink") != (again == 0) || !strings.Contains(done, "grow") {
		g.t.Errorf("%s: it is repeated after %s (%v), want %s; done is\n%s", when, got, err, again, done)
	}
	if !strings.Contains(g.ro.Status.Message, message) || (message == "") != (g.ro.Status.Message == "") {
		g.t.Errorf("%s: the status says %q, want %q", when, g.ro.Status.Message, message)
	}
	if n := len(g.said.Events); n != events {
		g.t.Errorf("%s: %d events, want %d", when, n, events)
	}
}

func (g *gated) later(by time.Duration) { g.clock.SetTime(g.clock.Now().Add(by)) }

// A weight counts when the Gateway has accepted the generation of the route that has it.
func TestAWeightWaitsForTheGateway(t *testing.T) {
	g := newGated(t)
	g.say("True", "True", 6)
	g.try("in the pass that writes it", true, backoffShortest, "", 0)
	g.route.SetGeneration(7)
	g.try("right after", false, shownAfter, "", 0)
	g.later(shownAfter)
	g.try("seconds later", false, waitsFor-shownAfter, `waiting for Gateway shop/eg to accept generation 7 of HTTPRoute "web"`, 0)
	if g.ro.Status.Phase != v1alpha1.RolloutPhaseProgressing {
		t.Errorf("the phase is %s", g.ro.Status.Phase)
	}
	g.say("True", "True", 7)
	g.ro.Status.Message = ""
	g.try("when it has accepted it", false, 0, "", 0)
	if n := len(g.memory.awaited(client.ObjectKeyFromObject(g.ro))); n != 0 {
		t.Errorf("%d routes are remembered", n)
	}
}

// A Gateway that does not answer holds a weight up for a time, once more for each generation. The Rollout says so once.
func TestAWeightDoesNotWaitForEver(t *testing.T) {
	g := newGated(t)
	g.say("True", "True", 6)
	g.route.SetGeneration(7)
	g.try("at first", false, shownAfter, "", 0)
	g.later(waitsFor)
	g.try("when the time is over", false, 0, "", 1)
	g.try("again", false, 0, "", 1)
	g.route.SetGeneration(8)
	g.try("with the next generation", false, shownAfter, "", 1)
	g.later(waitsFor)
	g.try("when its time is over", false, 0, "", 2)
	if said := <-g.said.Events; !strings.Contains(said, "Warning WeightVerifyError Failed to verify weight: waited 1m0s for Gateway shop/eg to accept generation 7") {
		t.Error(said)
	}
}

// Where no Gateway ever says anything about a route, one wait is enough.
func TestAWeightWaitsOnceForNoGateway(t *testing.T) {
	g := newGated(t)
	g.route.SetGeneration(7)
	g.try("at first", false, shownAfter, "", 0)
	g.later(waitsFor)
	g.try("when the time is over", false, 0, "", 1)
	g.route.SetGeneration(8)
	g.try("with the next generation", false, 0, "", 1)
	g.say("True", "True", 7)
	g.try("when one begins to speak", false, shownAfter, "", 1)
}

// What a Gateway cannot carry out is never in force, however long that takes, and comes when it can.
func TestAWeightThatIsRefusedWaits(t *testing.T) {
	g := newGated(t)
	g.route.SetGeneration(7)
	g.say("True", "False", 7)
	const message = `WeightVerifyError: Gateway shop/eg cannot resolve the references of HTTPRoute "web": Because`
	g.try("at first", false, refusedRetry, message, 1)
	if g.ro.Status.Phase != v1alpha1.RolloutPhaseDegraded {
		t.Errorf("the phase is %s", g.ro.Status.Phase)
	}
	g.later(10 * waitsFor)
	g.try("much later", false, refusedRetry, message, 1)
	g.say("True", "True", 7)
	g.ro.Status.Message = ""
	g.try("when it is resolved", false, 0, "", 1)
}

// Someone who takes each weight back at once holds an update up for a time.
func TestAWeightThatIsTakenBackEachTime(t *testing.T) {
	g := newGated(t)
	g.try("at first", true, backoffShortest, "", 0)
	g.later(shownAfter)
	g.try("seconds later", true, backoffShortest, `waiting for HTTPRoute "web" to stay as it was written`, 1) // it was restored
	g.ro.Status.Message = ""
	g.later(waitsFor)
	g.try("when the time is over", true, 0, "", 3) // it was restored again
}

// What takes nothing away and ends no step waits for nobody, and between updates nothing does.
func TestWhatCountsOnRoutes(t *testing.T) {
	status := func(edit func(*v1alpha1.RolloutStatus)) v1alpha1.RolloutStatus {
		s := v1alpha1.RolloutStatus{StableRS: "a", CurrentPodHash: "b", CurrentStepIndex: new(int32(1)), Canary: v1alpha1.CanaryStatus{Weights: &v1alpha1.TrafficWeights{}}}
		if edit != nil {
			edit(&s)
		}
		return s
	}
	settled := status(func(s *v1alpha1.RolloutStatus) { s.CurrentPodHash = "a" })
	record := func(to v1alpha1.RolloutStatus) plan.Plan {
		return plan.Plan{Record: &plan.Record{To: &v1alpha1.Rollout{Status: to}}}
	}
	shrink := plan.Plan{Shrink: []change.Change{change.DeleteReplicaSet{}}}
	for name, c := range map[string]struct {
		was  v1alpha1.RolloutStatus
		plan plan.Plan
		want bool
	}{
		"nothing":                           {status(nil), plan.Plan{}, false},
		"pods that go":                      {status(nil), shrink, true},
		"pods that go after the update":     {settled, shrink, false},
		"pods that go while weight is left": {status(func(s *v1alpha1.RolloutStatus) { s.CurrentPodHash, s.Canary.Weights.Canary.Weight = "a", 100 }), shrink, true},
		"counts":                            {status(nil), record(status(func(s *v1alpha1.RolloutStatus) { s.Replicas = 3 })), false},
		"a step":                            {status(nil), record(status(func(s *v1alpha1.RolloutStatus) { s.CurrentStepIndex = new(int32(2)) })), true},
		"a new update":                      {settled, record(status(func(s *v1alpha1.RolloutStatus) { s.CurrentStepIndex = new(int32(0)) })), false},
		"a weight":                          {status(nil), record(status(func(s *v1alpha1.RolloutStatus) { s.Canary.Weights.Canary.Weight = 5 })), true},
		"a weight without an update":        {settled, record(status(func(s *v1alpha1.RolloutStatus) { s.CurrentPodHash, s.Canary.Weights.Canary.Weight = "a", 5 })), true},
		"a promotion":                       {status(nil), record(status(func(s *v1alpha1.RolloutStatus) { s.StableRS = "b" })), true},
		"the first deployment":              {v1alpha1.RolloutStatus{}, record(settled), false},
		"the first weights":                 {status(func(s *v1alpha1.RolloutStatus) { s.CurrentPodHash, s.Canary.Weights = "a", nil }), record(settled), false},
	} {
		if got := countsOnRoutes(c.was, c.plan); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
