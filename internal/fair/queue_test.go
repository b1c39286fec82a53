package fair_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/internal/fair"
)

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func newQueue(t *testing.T, workers int) (*fair.Queue, *testingclock.FakeClock) {
	clk := testingclock.NewFakeClock(time.Unix(0, 0))
	q := fair.NewQueue(fair.Options{
		Clock: clk, Workers: workers,
		Limiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute),
	})
	t.Cleanup(q.ShutDown)
	return q, clk
}

// take takes what is handed out without waiting.
func take(q *fair.Queue, most int) (taken []string) {
	for range most {
		before := q.Len()
		if before == 0 {
			break
		}
		r, _, _ := q.GetWithPriority()
		taken = append(taken, r.String())
	}
	return taken
}

func TestAHostileNamespaceDelaysAnothersRequestByOne(t *testing.T) {
	q, _ := newQueue(t, 0)
	for i := range 10_000 {
		q.Add(request("hostile", fmt.Sprint(i)))
	}
	q.Add(request("team-b", "web"))
	want := []string{"hostile/0", "team-b/web", "hostile/1"}
	if diff := cmp.Diff(want, take(q, 3)); diff != "" {
		t.Errorf("served (-want +got):\n%s", diff)
	}
}

func TestAHighPriorityDoesNotKeepOthersLowOneWaitingForGood(t *testing.T) {
	q, _ := newQueue(t, 0)
	for i := range 100 {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: new(10)}, request("hostile", fmt.Sprint(i)))
	}
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(-100)}, request("team-b", "web"))
	if served := slices.Index(take(q, 100), "team-b/web"); served < 0 || served > 8 {
		t.Errorf("it is served as number %d, want among the first 8", served)
	}
}

func TestWithinANamespacePriorityCountsThenArrival(t *testing.T) {
	q, _ := newQueue(t, 0)
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(-1)}, request("a", "result"), request("a", "raised"))
	q.Add(request("a", "news"))
	q.Add(request("a", "raised"))
	if diff := cmp.Diff([]string{"a/news", "a/raised", "a/result"}, take(q, 3)); diff != "" {
		t.Errorf("served (-want +got):\n%s", diff)
	}
}

func TestANamespaceLeavesWorkersForOthers(t *testing.T) {
	for name, c := range map[string]struct{ workers, most int }{
		"ten":    {10, 6},
		"thirty": {30, 20},
		"two":    {2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			q, _ := newQueue(t, c.workers)
			for i := range 100 {
				q.Add(request("hostile", fmt.Sprint(i)))
			}
			for range c.most {
				q.Get()
			}
			got := make(chan reconcile.Request)
			go func() {
				r, _ := q.Get()
				got <- r
			}()
			q.Add(request("team-b", "web"))
			select {
			case r := <-got:
				if r != request("team-b", "web") {
					t.Errorf("%s is served, want team-b/web", r)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("nobody is served")
			}
		})
	}
}

func TestAWorkerThatIsFreedServesTheNamespaceThatHadToWait(t *testing.T) {
	q, _ := newQueue(t, 2)
	q.Add(request("a", "1"))
	q.Add(request("a", "2"))
	first, _ := q.Get()
	got := make(chan reconcile.Request)
	go func() {
		r, _ := q.Get()
		got <- r
	}()
	q.Done(first)
	select {
	case r := <-got:
		if r != request("a", "2") {
			t.Errorf("%s is served, want a/2", r)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a/2 waits for good")
	}
}

func TestARequestIsHandedOutOnceAtATime(t *testing.T) {
	q, _ := newQueue(t, 0)
	web := request("a", "web")
	q.Add(web)
	q.Add(web)
	q.Get()
	q.Add(web)
	if n := q.Len(); n != 0 {
		t.Errorf("%d requests can be had during the pass, want none", n)
	}
	q.Done(web)
	if diff := cmp.Diff([]string{"a/web"}, take(q, 2)); diff != "" {
		t.Errorf("after the pass (-want +got):\n%s", diff)
	}
}

func TestDelaysAreMerged(t *testing.T) {
	for name, c := range map[string]struct {
		adds []time.Duration
		at   []time.Duration
	}{
		"the earliest counts":      {[]time.Duration{time.Minute, time.Second, time.Hour}, []time.Duration{time.Second}},
		"now cancels later":        {[]time.Duration{time.Minute, 0}, []time.Duration{0}},
		"later does not delay now": {[]time.Duration{0, time.Minute}, []time.Duration{0}},
	} {
		t.Run(name, func(t *testing.T) {
			q, clk := newQueue(t, 0)
			for _, after := range c.adds {
				q.AddAfter(request("a", "web"), after)
			}
			var at []time.Duration
			for range 3700 {
				if len(take(q, 1)) > 0 {
					at = append(at, clk.Since(time.Unix(0, 0)))
					q.Done(request("a", "web"))
				}
				clk.Step(time.Second)
			}
			if diff := cmp.Diff(c.at, at); diff != "" {
				t.Errorf("handed out after (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailuresWaitLongerEachTime(t *testing.T) {
	q, clk := newQueue(t, 0)
	web := request("a", "web")
	var waits []time.Duration
	for range 4 {
		from := clk.Now()
		q.AddRateLimited(web)
		for q.Len() == 0 {
			clk.Step(time.Second)
		}
		q.Get()
		q.Done(web)
		waits = append(waits, clk.Since(from))
	}
	if diff := cmp.Diff([]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	q.Forget(web)
	if n := q.NumRequeues(web); n != 0 {
		t.Errorf("%d failures are remembered after a success", n)
	}
}

func TestShutDownEndsWaiting(t *testing.T) {
	q, _ := newQueue(t, 0)
	ended := make(chan bool)
	go func() {
		_, shutdown := q.Get()
		ended <- shutdown
	}()
	q.ShutDown()
	if !<-ended {
		t.Error("a worker is handed something after the end")
	}
}

func TestSharesShrinkWithWhatIsFree(t *testing.T) {
	s := fair.NewShares(100, 1)
	grab := func(tenant string) (n int) {
		for s.Take(tenant, 1) {
			n++
		}
		return n
	}
	got := []int{grab("a"), grab("b"), grab("c"), grab("d")}
	if diff := cmp.Diff([]int{50, 25, 12, 6}, got); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
	s.Give("a", 50)
	if n := grab("e"); n < 20 {
		t.Errorf("e gets %d of what a returned, want 20 or more", n)
	}
}
