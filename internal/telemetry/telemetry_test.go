package telemetry

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

func TestWhatARequestIsAbout(t *testing.T) {
	for url, want := range map[string]Target{
		"GET /apis/argoproj.io/v1alpha1/rollouts?watch=true":                 {Resource: "rollouts", Verb: "Watch"},
		"GET /apis/argoproj.io/v1alpha1/namespaces/ns/rollouts":              {Resource: "rollouts", Namespace: "ns", Verb: "List"},
		"PATCH /apis/argoproj.io/v1alpha1/namespaces/ns/rollouts/web/status": {Resource: "rollouts", Namespace: "ns", Name: "web", Verb: "Patch"},
		"POST /api/v1/namespaces/ns/events":                                  {Resource: "events", Namespace: "ns", Verb: "Create"},
		"GET /api/v1/namespaces/ns/services/web":                             {Resource: "services", Namespace: "ns", Name: "web", Verb: "Get"},
		"GET /api/v1/namespaces/ns":                                          {Resource: "namespaces", Name: "ns", Verb: "Get"},
		"PUT /apis/coordination.k8s.io/v1/namespaces/own/leases/lock":        {Resource: "leases", Namespace: "own", Name: "lock", Verb: "Update"},
		"DELETE /apis/apps/v1/namespaces/ns/replicasets/web-1":               {Resource: "replicasets", Namespace: "ns", Name: "web-1", Verb: "Delete"},
		"GET /version":      {Resource: "other", Verb: "Get"},
		"GET /apis/apps/v1": {Resource: "other", Verb: "Get"},
	} {
		method, path, _ := strings.Cut(url, " ")
		r, err := http.NewRequest(method, "https://127.0.0.1"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, TargetOf(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", url, diff)
		}
	}
}

func TestC24ObjectsAreToldApartOnlyWhenAskedFor(t *testing.T) {
	web := types.NamespacedName{Namespace: "ns", Name: "web"}
	for perObject, want := range map[bool]int{false: 1, true: 2} {
		m := New(prometheus.NewRegistry(), perObject)
		m.Pass(Rollouts, web, time.Second, nil)
		m.Pass(Rollouts, types.NamespacedName{Namespace: "ns", Name: "api"}, time.Second, errors.New("no"))
		if n := testutil.CollectAndCount(m.passes[Rollouts]); n != want {
			t.Errorf("perObject %t: %d series of passes, want %d", perObject, n, want)
		}
		if n := testutil.CollectAndCount(m.failures[Rollouts]); n != 1 {
			t.Errorf("%d series of errors, want the one of the object that failed", n)
		}
		m.Told(&corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Rollout", Namespace: "ns", Name: "web"}, Type: "Normal", Reason: "RolloutPaused"})
		m.Forget(Rollouts, web)
		m.Forget(Rollouts, types.NamespacedName{Namespace: "ns", Name: "api"})
		if n := testutil.CollectAndCount(m.failures[Rollouts]) + testutil.CollectAndCount(m.events); n != 0 {
			t.Errorf("%d series are left of Rollouts that are gone", n)
		}
	}
}

func TestAnUpdateIsCountedOnceWhenItEnds(t *testing.T) {
	at := func(seconds int64) *metav1.Time { return &metav1.Time{Time: time.Unix(seconds, 0)} }
	m := New(prometheus.NewRegistry(), false)
	status := func(d *v1alpha1.RolloutDuration) *v1alpha1.RolloutStatus { return &v1alpha1.RolloutStatus{Duration: d} }
	running := status(&v1alpha1.RolloutDuration{RolloutStartedAt: at(0)})
	ended := status(&v1alpha1.RolloutDuration{RolloutStartedAt: at(0), FinishedAt: at(100), TotalManualPauseDurationSeconds: new(int64(40)), CompletionStatus: "Promoted"})
	m.Updated(status(nil), running)
	m.Updated(running, ended)
	m.Updated(ended, ended)
	m.Updated(status(nil), status(nil))
	if n := testutil.CollectAndCount(m.duration); n != 1 {
		t.Errorf("%d series", n)
	}
	var written dto.Metric
	if err := m.progression.WithLabelValues("Promoted").(prometheus.Metric).Write(&written); err != nil {
		t.Fatal(err)
	}
	if h := written.GetHistogram(); h.GetSampleCount() != 1 || h.GetSampleSum() != 60 {
		t.Errorf("%d updates moved for %v s in all, want one and 60", h.GetSampleCount(), h.GetSampleSum())
	}
}

func TestASupersededUpdateIsCounted(t *testing.T) {
	at := func(seconds int64) *metav1.Time { return &metav1.Time{Time: time.Unix(seconds, 0)} }
	first := &v1alpha1.RolloutStatus{CurrentPodHash: "a", Duration: &v1alpha1.RolloutDuration{RolloutStartedAt: at(0), ManualPauseStartedAt: at(20)}}
	for name, test := range map[string]struct {
		next  v1alpha1.RolloutStatus
		count int
	}{
		"by a newer version":                {v1alpha1.RolloutStatus{CurrentPodHash: "b", Duration: &v1alpha1.RolloutDuration{RolloutStartedAt: at(50)}}, 1},
		"by a newer one in the same second": {v1alpha1.RolloutStatus{CurrentPodHash: "b", Duration: &v1alpha1.RolloutDuration{RolloutStartedAt: at(0)}}, 1},
		"not by the way back": {v1alpha1.RolloutStatus{CurrentPodHash: "b", Duration: &v1alpha1.RolloutDuration{
			RolloutStartedAt: at(0), CompletionStatus: v1alpha1.CompletionRolledBack,
		}}, 0},
		"not while it goes on": {*first, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := New(prometheus.NewRegistry(), false)
			m.Updated(first, &test.next)
			if n := testutil.CollectAndCount(m.duration); n != test.count {
				t.Errorf("%d series, want %d", n, test.count)
			}
		})
	}
}

func TestAQueueThatStandsStillIsNoticed(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	q := NewQueue(clock, "rollout", 0)
	web, api := requestFor("web"), requestFor("api")
	clock.Step(time.Hour)
	if err := q.Check(nil); err != nil {
		t.Errorf("with nothing to do: %v", err)
	}
	q.add(web, api)
	q.begin(web)
	clock.Step(Stuck)
	if err := q.Check(nil); err != nil {
		t.Errorf("before the time: %v", err)
	}
	clock.Step(time.Second)
	if err := q.Check(nil); err == nil {
		t.Error("a pass that does not end goes unnoticed")
	}
	q.end(web)
	if err := q.Check(nil); err != nil {
		t.Errorf("after a pass has ended: %v", err)
	}
	clock.Step(Stuck + time.Second)
	if err := q.Check(nil); err == nil {
		t.Error("an object that nobody looks at goes unnoticed")
	}
	q.begin(api)
	q.end(api)
	clock.Step(time.Hour)
	if err := q.Check(nil); err != nil {
		t.Errorf("with all done: %v", err)
	}
}

// The queue that a controller works with is the one that the probe asks about.
func TestAControllersOwnQueueIsWatched(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	q := NewQueue(clock, "rollout", 0)
	works := q.Make("rollout", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer works.ShutDown()
	works.Add(requestFor("web"))
	request, _ := works.Get()
	clock.Step(Stuck + time.Second)
	if err := q.Check(nil); err == nil || !strings.Contains(err.Error(), "1 under way") {
		t.Errorf("a reconcile that hangs is reported as: %v", err)
	}
	works.Done(request)
	if err := q.Check(nil); err != nil {
		t.Errorf("after it has ended: %v", err)
	}
}

func TestTheReactionCountsFromTheFirstNews(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	q := NewQueue(clock, "rollout", 0)
	web := requestFor("web")
	q.add(web)
	clock.Step(time.Second)
	q.add(web)
	q.begin(web)
	if came := q.came(web); !came.Equal(time.Unix(0, 0)) {
		t.Errorf("the news came %s", came)
	}
	q.end(web)
	q.begin(web) // its time came, without news
	if came := q.came(web); !came.IsZero() {
		t.Errorf("there was news at %s", came)
	}
}

func TestPhasesAndWhatIsWaitedFor(t *testing.T) {
	progressing := func(reason string) []v1alpha1.RolloutCondition {
		return []v1alpha1.RolloutCondition{{Type: v1alpha1.ConditionProgressing, Reason: reason}}
	}
	for name, c := range map[string]struct {
		status     v1alpha1.RolloutStatus
		phase, why string
	}{
		"new":      {v1alpha1.RolloutStatus{}, "Progressing", "pods"},
		"healthy":  {v1alpha1.RolloutStatus{Phase: "Healthy"}, "Completed", ""},
		"aborted":  {v1alpha1.RolloutStatus{Phase: "Degraded", Conditions: progressing("RolloutAborted")}, "Abort", ""},
		"overdue":  {v1alpha1.RolloutStatus{Phase: "Degraded", Conditions: progressing("ProgressDeadlineExceeded")}, "Timeout", "Timeout"},
		"held":     {v1alpha1.RolloutStatus{Phase: "Paused", PauseConditions: []v1alpha1.PauseCondition{{Reason: "CanaryPauseStep"}}}, "Paused", "CanaryPauseStep"},
		"judged":   {v1alpha1.RolloutStatus{Phase: "Progressing", Canary: v1alpha1.CanaryStatus{CurrentStepAnalysisRunStatus: &v1alpha1.RolloutAnalysisRunStatus{Status: "Running"}}}, "Progressing", "analysis"},
		"mistaken": {v1alpha1.RolloutStatus{Phase: "Degraded", Conditions: []v1alpha1.RolloutCondition{{Type: "InvalidSpec", Status: "True"}}}, "InvalidSpec", "valid spec"},
	} {
		ro := &v1alpha1.Rollout{Status: c.status}
		if phase, why := phaseOf(ro), WaitsFor(ro); phase != c.phase || why != c.why {
			t.Errorf("%s: phase %q and waits for %q, want %q and %q", name, phase, why, c.phase, c.why)
		}
	}
}

func requestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}}
}
