package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

func sorted(all []string) []string {
	slices.Sort(all)
	return all
}

// many is how many events there are.
const many = 10000

// downtime is for how long one server is down. SLUICE_NOTIFIER_DOWN=5m makes the test as long as the promise.
func downtime(t *testing.T) time.Duration {
	text := os.Getenv("SLUICE_NOTIFIER_DOWN")
	if text == "" {
		return 10 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// counting is a server that counts the messages, by their bodies.
type counting struct {
	mu   sync.Mutex
	seen map[string]int
	down atomic.Bool
}

func (c *counting) take(w http.ResponseWriter, r *http.Request) bool {
	if c.down.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[r.URL.Path]++
	return false
}

// missing says how many of the messages have not come, and which: those of the even numbers up to many, or of the odd ones.
func (c *counting) missing(of, first int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) >= of {
		return nil
	}
	var missing []int
	for i := first; i < many && len(missing) < 20; i += 2 {
		if c.seen[fmt.Sprintf("/%d", i)] == 0 {
			missing = append(missing, i)
		}
	}
	return fmt.Errorf("%d of %d messages came, without %d", len(c.seen), of, missing)
}

// Ten thousand events of one namespace, half of them to a server that is down: nothing is lost, nothing comes twice, and those to the other server
// arrive while it is down.
func TestTenThousandEvents(t *testing.T) {
	ns := playtest.New(t)
	up, down := &counting{seen: map[string]int{}}, &counting{seen: map[string]int{}}
	_, good := webhook(t, up.take)
	_, bad := webhook(t, down.take)
	const body = "{method: POST, path: '/{{.event.message}}', body: x}"
	configure(t, ns, "argo-rollouts", map[string]string{
		"service.webhook.good": "url: " + good.URL + "\ninsecureSkipVerify: true", "service.webhook.bad": "url: " + bad.URL + "\ninsecureSkipVerify: true",
		"template.t": "webhook: {good: " + body + ", bad: " + body + "}", "trigger.on-rollout-paused": "- send: [t]",
	}, nil)
	down.down.Store(true)
	begun := time.Now()
	n := startNotifier(t, ns, nil, "--loglevel=warn")
	var uids [2]*v1alpha1.Rollout
	for i, service := range []string{"good", "bad"} {
		manifest := strings.Replace(subscribed(`notifications.argoproj.io/subscribe.on-rollout-paused.`+service+`: ""`), "name: web\n  annotations", "name: web-"+service+"\n  annotations", 1)
		uids[i] = ns.CreateRollout(manifest)
	}
	var writers sync.WaitGroup
	failed := make(chan error, many)
	for writer := range 8 {
		writers.Go(func() {
			for i := writer; i < many; i += 8 {
				failed <- ns.Client.Create(t.Context(), paused(ns, uids[i%2], i))
			}
		})
	}
	writers.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d events were written after %s", many, since(begun))
	eventually(t, "the messages to the server that is up", func() error { return up.missing(many/2, 0) })
	t.Logf("the server that is up had its %d messages after %s", many/2, since(begun))
	if err := down.missing(1, 1); err == nil {
		t.Error("a message came to the server that is down")
	}
	for time.Since(begun) < downtime(t) {
		<-time.After(100 * time.Millisecond)
	}
	down.down.Store(false)
	t.Logf("the other server was down for %s", since(begun))
	eventually(t, "the messages to the server that was down", func() error { return down.missing(many/2, 1) })
	t.Logf("it had its %d messages after %s", many/2, since(begun))
	n.kill()
	for _, c := range []*counting{up, down} {
		for id, times := range c.seen {
			if times != 1 {
				t.Errorf("message %s came %d times", id, times)
			}
		}
	}
}

func since(begun time.Time) time.Duration { return time.Since(begun).Round(time.Second) }

func paused(ns *playtest.Namespace, ro *v1alpha1.Rollout, i int) *corev1.Event {
	now := metav1.Now()
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: ns.Name, Name: fmt.Sprintf("%s.%d", ro.Name, i)},
		InvolvedObject: corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Rollout", Namespace: ns.Name, Name: ro.Name, UID: ro.UID},
		Reason:         v1alpha1.EventRolloutPaused, Message: fmt.Sprint(i), Type: "Normal", Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: corev1.EventSource{Component: v1alpha1.EventSource},
	}
}

// eventually waits longer than playtest does: ten thousand messages are twenty thousand requests to the API server.
func eventually(t *testing.T, what string, done func() error) {
	t.Helper()
	err := errors.New("not asked yet")
	for range 6000 {
		if err = done(); err == nil {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	t.Fatalf("waiting for %s: %v", what, err)
}
