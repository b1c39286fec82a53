package live_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

func newClient(t *testing.T) (live.Client, *fake.FakeDynamicClient) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	labels := map[string]string{"app": "web", v1alpha1.PodTemplateHashLabel: "a"}
	own := metav1.OwnerReference{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "web", UID: "ro", Controller: new(bool)}
	*own.Controller = true
	client := fake.NewSimpleDynamicClient(scheme,
		&v1alpha1.Rollout{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "ro"},
			Spec:       v1alpha1.RolloutSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		},
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-a", Namespace: "shop", UID: "rs", Labels: labels, OwnerReferences: []metav1.OwnerReference{own}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-a-1", Namespace: "shop", Labels: labels}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "shop", Labels: map[string]string{"app": "web"}}},
	)
	return live.Client{Interface: client, Namespace: "shop"}, client
}

// patience bounds each wait. Only a hang takes this long.
const patience = time.Minute

// watching returns a function that waits until a resource is watched. The fake client forgets what happens between a list and the watch
// that follows it, where an API server would replay it, so a test must not change an object before then.
func watching(t *testing.T, client *fake.FakeDynamicClient) func(resource string) {
	t.Helper()
	begun := make(chan string, 16)
	client.PrependWatchReactor("*", func(action k8stesting.Action) (bool, watch.Interface, error) {
		w, err := client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		begun <- action.GetResource().Resource
		return true, w, err
	})
	seen := map[string]bool{}
	return func(resource string) {
		t.Helper()
		bound := time.After(patience)
		for !seen[resource] {
			select {
			case r := <-begun:
				seen[r] = true
			case <-bound:
				t.Fatalf("nothing watches %s", resource)
			}
		}
	}
}

// until receives sights until one is as wanted.
func until(t *testing.T, sights <-chan live.Sight, wanted func(live.Sight) bool) live.Sight {
	t.Helper()
	bound := time.After(patience)
	for {
		select {
		case s, open := <-sights:
			if !open {
				t.Fatal("no more sights")
			}
			if wanted(s) {
				return s
			}
		case <-bound:
			t.Fatal("the sight never came")
		}
	}
}

func TestFollow(t *testing.T) {
	c, client := newClient(t)
	watched := watching(t, client)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sights, err := c.Follow(ctx, "web")
	if err != nil {
		t.Fatal(err)
	}
	first := until(t, sights, func(live.Sight) bool { return true })
	if n, m := len(first.Objects.ReplicaSets), len(first.Objects.Pods); n != 1 || m != 1 {
		t.Errorf("%d ReplicaSets and %d pods at first, want one of each", n, m)
	}

	watched("pods")
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	if err := client.Resource(pods).Namespace("shop").Delete(ctx, "web-a-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, sights, func(s live.Sight) bool { return len(s.Objects.Pods) == 0 && len(s.Objects.ReplicaSets) == 1 })

	watched("rollouts")
	if err := c.Rollouts().Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, sights, func(s live.Sight) bool { return s.Gone })
	select {
	case _, open := <-sights:
		if open {
			t.Error("there are sights of what is gone")
		}
	case <-time.After(patience):
		t.Error("the sights never end")
	}
}

func TestFollowTellsOfTrouble(t *testing.T) {
	c, client := newClient(t)
	left := 1
	client.PrependWatchReactor("rollouts", func(k8stesting.Action) (bool, watch.Interface, error) {
		left--
		return left == 0, nil, errors.New("the connection is lost")
	})
	sights, err := c.Follow(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	s := until(t, sights, func(s live.Sight) bool { return s.Trouble != nil })
	if s.Objects.Rollout == nil {
		t.Error("what was seen before is forgotten")
	}
	until(t, sights, func(s live.Sight) bool { return s.Trouble == nil })
}

// Who waits for a status needs no right to see pods.
func TestFollowRollout(t *testing.T) {
	c, client := newClient(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sights, err := c.FollowRollout(ctx, "web")
	if err != nil {
		t.Fatal(err)
	}
	until(t, sights, func(live.Sight) bool { return true })
	for _, a := range client.Actions() {
		if a.GetResource().Resource != "rollouts" {
			t.Error(fmt.Sprint("asked for ", a.GetResource().Resource))
		}
	}
}
