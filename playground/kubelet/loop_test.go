package kubelet

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

// world is the loop with an API server in memory, in a bubble of virtual time: advance returns when all that was due is done.
type world struct {
	t       *testing.T
	client  *fake.Clientset
	version atomic.Int64 // the resource version given last
}

func TestPodsOfALoopLiveAndDie(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create(newPod(unbound, named("web-1"), preStopSleep(5)))
		w.create(newPod(unbound, named("web-2"), annotated(ReadyAfterAnnotation, "300ms")))
		w.advance(200 * time.Millisecond)
		w.expect("web-1", "Running: web running")
		w.advance(250 * time.Millisecond)
		w.expect("web-2", "Running ready: web running")
		w.advance(time.Second)
		w.expect("web-1", "Running ready: web running")

		one, two := w.pod("web-1"), w.pod("web-2")
		if one.Spec.NodeName == two.Spec.NodeName {
			t.Errorf("both pods are on %s", one.Spec.NodeName)
		}
		if one.Status.PodIP == "" || one.Status.PodIP == two.Status.PodIP {
			t.Errorf("addresses %q and %q", one.Status.PodIP, two.Status.PodIP)
		}

		w.delete("web-1", 30)
		w.delete("web-2", 30)
		w.advance(time.Second)
		w.expectGone("web-2")
		w.expect("web-1", "Running ready: web running")
		w.advance(5 * time.Second)
		w.expectGone("web-1")
	})
}

func TestASettledWorldIsNotWritten(t *testing.T) {
	inWorld(t, func(w *world) {
		for i := range 20 {
			w.create(newPod(unbound, named(fmt.Sprintf("web-%d", i))))
		}
		w.advance(5 * time.Second)
		// Bound, admitted, running, ready: four writes each and no more.
		before := w.writes()
		if before != 20*4 {
			t.Errorf("%d writes for 20 pods", before)
		}
		w.advance(10 * time.Minute)
		if more := w.writes() - before; more != 0 {
			t.Errorf("%d more writes in ten minutes in which nothing happened", more)
		}
	})
}

func TestAddressesComeBack(t *testing.T) {
	inWorld(t, func(w *world) {
		for generation := range 3 {
			for i := range 12 {
				w.create(newPod(unbound, named(fmt.Sprintf("web-%d-%d", generation, i))))
			}
			w.advance(5 * time.Second)
			for i := range 12 {
				name := fmt.Sprintf("web-%d-%d", generation, i)
				w.expect(name, "Running ready: web running")
				w.delete(name, 30)
			}
			w.advance(5 * time.Second)
		}
	})
}

func TestAPodWaitsForANode(t *testing.T) {
	inWorld(t, func(w *world) {
		for i := range 4 {
			w.create(newPod(unbound, named(fmt.Sprintf("web-%d", i)), labelled("app", "web"), away("app", "web")))
			w.advance(100 * time.Millisecond)
		}
		w.expect("web-3", ": ")
		scheduled := w.pod("web-3").Status.Conditions[0]
		if scheduled.Reason != corev1.PodReasonUnschedulable || scheduled.Message == "" {
			t.Errorf("the pod that fits nowhere has condition %v", scheduled)
		}
		w.delete("web-1", 30)
		w.advance(5 * time.Second)
		w.expectGone("web-1")
		w.expect("web-3", "Running ready: web running")
	})
}

func TestAPodOfTheSameNameIsAnotherPod(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create(newPod(unbound, named("web-0")))
		w.advance(5 * time.Second)
		w.delete("web-0", 0)
		w.create(newPod(unbound, named("web-0"), func(p *corev1.Pod) { p.UID = "uid-of-the-second" }))
		w.advance(5 * time.Second)
		w.expect("web-0", "Running ready: web running")
	})
}

func TestStatusOfOthersIsKeptAndOwnIsRepaired(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create(newPod(unbound, named("web-0")))
		w.advance(5 * time.Second)
		pod := w.pod("web-0")
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: "example.com/lb", Status: corev1.ConditionTrue})
		pod.Status.ContainerStatuses[0].Ready = false
		w.put(pod)
		w.advance(time.Second)
		pod = w.pod("web-0")
		if !pod.Status.ContainerStatuses[0].Ready {
			t.Error("the container stayed unready though nothing ails it")
		}
		if statusOf(pod.Status.Conditions, "example.com/lb") != corev1.ConditionTrue {
			t.Error("a condition of someone else was lost")
		}
	})
}

func TestAfterARestartPodsGoOn(t *testing.T) {
	started := metav1.NewTime(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) // The bubble's beginning.
	before := newPod(named("web-old"), on("node-1"), func(p *corev1.Pod) {
		p.Status = next(sighting{pod: p, hostIP: "192.0.2.1"}, started.Add(-time.Minute), testOptions).status
		p.Status = next(sighting{pod: p, hostIP: "192.0.2.1", podIP: "10.244.0.7"}, started.Add(-30*time.Second), testOptions).status
	})
	inWorld(t, func(w *world) {
		w.create(newPod(unbound, named("web-new")))
		w.advance(5 * time.Second)
		w.expect("web-old", "Running ready: web running")
		if ip := w.pod("web-old").Status.PodIP; ip != "10.244.0.7" {
			t.Errorf("the old pod's address became %s", ip)
		}
		if ip := w.pod("web-new").Status.PodIP; ip == "" || ip == "10.244.0.7" {
			t.Errorf("the new pod's address is %q", ip)
		}
	}, before)
}

func TestNodesAreReadyAndTheirLeasesRenewed(t *testing.T) {
	inWorld(t, func(w *world) {
		w.advance(10 * time.Minute)
		list, err := w.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 3 {
			t.Fatalf("%d nodes, error %v", len(list.Items), err)
		}
		for _, node := range list.Items {
			if len(node.Spec.Taints) > 0 {
				t.Errorf("%s has taints %v", node.Name, node.Spec.Taints)
			}
			lease, err := w.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), node.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if age := time.Since(lease.Spec.RenewTime.Time); age > leaseDuration/2 {
				t.Errorf("the lease of %s is %s old", node.Name, age)
			}
		}
	})
}

func TestAddressesAreUnique(t *testing.T) {
	a := newAddresses(netip.MustParsePrefix("10.0.0.0/29")) // Six addresses for pods.
	taken := map[string]bool{}
	for i := range 6 {
		ip, err := a.take(types.UID(fmt.Sprint(i)))
		if err != nil || taken[ip] {
			t.Fatalf("pod %d got %q, error %v", i, ip, err)
		}
		taken[ip] = true
	}
	if ip, err := a.take("one too many"); err == nil {
		t.Errorf("a seventh pod got %s", ip)
	}
	a.free("10.0.0.3", "another")
	if ip, err := a.take("one too many"); err == nil {
		t.Errorf("a pod got %s, which another one gave back for its owner", ip)
	}
	a.free("10.0.0.3", "2")
	if ip, err := a.take("7"); err != nil || ip != "10.0.0.3" {
		t.Errorf("the address given back was not found, but %q, error %v", ip, err)
	}
}

func inWorld(t *testing.T, play func(*world), objects ...runtime.Object) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, client: fake.NewClientset(objects...)}
		w.client.PrependReactor("create", "pods", w.bind)
		w.client.PrependReactor("patch", "pods", w.patch)
		w.client.PrependReactor("create", "nodes", w.taint)
		o, err := Options{PodCIDR: netip.MustParsePrefix("10.244.0.0/27")}.withDefaults() // Thirty addresses.
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); run(ctx, w.client, o) }()
		w.advance(time.Second)
		play(w)
		cancel()
		<-done
		time.Sleep(time.Minute) // Of virtual time, in which the libraries' own goroutines notice the end.
	})
}

func (w *world) advance(d time.Duration) {
	time.Sleep(d) // Virtual: it returns when nothing else can happen before.
	synctest.Wait()
}
