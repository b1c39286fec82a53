package deliver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

// log is what was delivered and dropped, in order and when.
type log struct {
	mu    sync.Mutex
	begun time.Time
	lines []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf("%v ", time.Since(l.begun).Round(time.Second))+fmt.Sprintf(format, args...))
}

func (l *log) message(id, to string, send func(context.Context) error) Message {
	return Message{
		ID: id, To: Destination{Service: to}, Tenant: "shop", Deadline: l.begun.Add(time.Hour), Send: send,
		Done: func(_ context.Context, err error) { l.add("%s %v", id, err) },
	}
}

func play(t *testing.T, test func(*Queues, *log)) *log {
	l := &log{}
	synctest.Test(t, func(t *testing.T) {
		l.begun = time.Now()
		test(New(t.Context(), clock.RealClock{}), l)
		synctest.Wait()
	})
	return l
}

func failing(times int, err error) func(context.Context) error {
	return func(context.Context) error {
		if times--; times >= 0 {
			return err
		}
		return nil
	}
}

func TestQueues(t *testing.T) {
	down := errors.New("down")
	for name, c := range map[string]struct {
		add  func(*Queues, *log)
		want []string
	}{
		"in order": {func(q *Queues, l *log) {
			q.Add(l.message("a", "x", failing(0, nil)))
			q.Add(l.message("b", "x", failing(0, nil)))
		}, []string{"0s a <nil>", "0s b <nil>"}},
		"one that fails holds up its own destination only": {func(q *Queues, l *log) {
			q.Add(l.message("a", "x", failing(3, down)))
			q.Add(l.message("b", "x", failing(0, nil)))
			q.Add(l.message("c", "y", failing(0, nil)))
		}, []string{"0s c <nil>", "7s a <nil>", "7s b <nil>"}},
		"the server says when": {func(q *Queues, l *log) {
			q.Add(l.message("a", "x", failing(1, &Later{down, time.Minute})))
		}, []string{"1m0s a <nil>"}},
		"the server asks for longer than the deadline": {func(q *Queues, l *log) {
			q.Add(l.message("a", "x", failing(1, &Later{down, 1000 * time.Hour})))
			q.Add(l.message("b", "x", failing(0, nil)))
		}, []string{"0s a down", "0s b <nil>"}},
		"refused": {func(q *Queues, l *log) {
			q.Add(l.message("a", "x", failing(1, &Refused{down})))
			q.Add(l.message("b", "x", failing(0, nil)))
		}, []string{"0s a down", "0s b <nil>"}},
		"down for good": {func(q *Queues, l *log) {
			q.Add(l.message("a", "x", failing(1e9, down)))
		}, []string{"58m31s a down"}},
		"a server that hangs": {func(q *Queues, l *log) {
			tries := 0
			q.Add(l.message("a", "x", func(ctx context.Context) error {
				if tries++; tries > 1 {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}))
			q.Add(l.message("c", "y", failing(0, nil)))
		}, []string{"0s c <nil>", "31s a <nil>"}},
		"the same twice": {func(q *Queues, l *log) {
			q.Add(l.message("a", "x", failing(1, down)))
			q.Add(l.message("a", "x", failing(0, nil)))
		}, []string{"1s a <nil>"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := play(t, func(q *Queues, l *log) {
				c.add(q, l)
				for q.Len() > 0 {
					time.Sleep(time.Second)
				}
			})
			if diff := cmp.Diff(c.want, got.lines); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Ten thousand messages, half of them to a destination that is down for five minutes: nothing is lost, nothing comes twice, and the others
// are not late.
func TestTenThousandMessages(t *testing.T) {
	const n = 10000
	sent, latest := map[string]int{}, map[string]time.Duration{}
	var mu sync.Mutex
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		q := New(t.Context(), clock.RealClock{})
		var again []Message
		for i := range n {
			service := []string{"up", "down"}[i%2]
			m := Message{
				ID: fmt.Sprint(i), To: Destination{Service: service, Recipient: fmt.Sprint(i % 20)}, Tenant: fmt.Sprint("tenant-", i%10),
				Deadline: begun.Add(time.Hour), Done: func(context.Context, error) {},
				Send: func(context.Context) error {
					time.Sleep(10 * time.Millisecond)
					if service == "down" && time.Since(begun) < 5*time.Minute {
						return errors.New("connection refused")
					}
					mu.Lock()
					defer mu.Unlock()
					sent[fmt.Sprint(i)]++
					latest[service] = max(latest[service], time.Since(begun))
					return nil
				},
			}
			if !q.Add(m) {
				again = append(again, m)
			}
		}
		for len(again) > 0 || q.Len() > 0 {
			time.Sleep(time.Second)
			for len(again) > 0 && q.Add(again[0]) {
				again = again[1:]
			}
		}
	})
	if len(sent) != n {
		t.Errorf("%d of %d messages arrived", len(sent), n)
	}
	for id, times := range sent {
		if times != 1 {
			t.Errorf("message %s arrived %d times", id, times)
		}
	}
	if latest["up"] > 10*time.Second {
		t.Errorf("the last message to a destination that is up came after %v", latest["up"])
	}
	if latest["down"] > 12*time.Minute {
		t.Errorf("the last message to a destination that was down came after %v", latest["down"])
	}
}

// A destination that is down does not keep a namespace's messages to another one waiting, however many there are.
func TestADestinationThatIsDownLeavesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(t.Context(), clock.RealClock{})
		begun, arrived := time.Now(), 0
		message := func(i int, to string, send func(context.Context) error) Message {
			return Message{
				ID: fmt.Sprint(to, i), Tenant: "shop", To: Destination{Service: to}, Deadline: begun.Add(time.Minute), Send: send,
				Done: func(context.Context, error) {},
			}
		}
		for i := range 5000 {
			q.Add(message(i, "down", func(context.Context) error { return errors.New("down") }))
		}
		if q.Room("shop", Destination{Service: "down"}) || !q.Room("shop", Destination{Service: "up"}) {
			t.Error("there is room for the destination that is down, or none for the other")
		}
		if !q.Add(message(0, "up", func(context.Context) error { arrived++; return nil })) {
			t.Error("there is no room for a message to the other destination")
		}
		synctest.Wait()
		if arrived != 1 {
			t.Errorf("%d messages arrived", arrived)
		}
		for q.Len() > 0 {
			time.Sleep(time.Minute)
		}
		if !q.Room("shop", Destination{Service: "down"}) {
			t.Error("what was dropped takes room")
		}
	})
}

// What a namespace may have waiting is limited, and another's message goes through.
func TestATenantMayNotFillTheQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(t.Context(), clock.RealClock{})
		begun, hang := time.Now(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		added := 0
		for i := range 10 * waiting {
			if q.Add(Message{
				ID: fmt.Sprint(i), Tenant: "hostile", To: Destination{Recipient: fmt.Sprint(i)}, Deadline: begun.Add(time.Minute), Send: hang,
				Done: func(context.Context, error) {},
			}) {
				added++
			}
		}
		if added != waiting {
			t.Errorf("%d messages of one namespace wait, %d may", added, waiting)
		}
		arrived := false
		q.Add(Message{
			ID: "mine", Tenant: "shop", Deadline: begun.Add(time.Minute),
			Send: func(context.Context) error { arrived = true; return nil }, Done: func(context.Context, error) {},
		})
		synctest.Wait()
		if !arrived {
			t.Error("another namespace's message waits")
		}
		for q.Len() > 0 {
			time.Sleep(time.Minute)
		}
	})
}
