package controller

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"
)

// lease is a lock that others hold or give back.
type lease struct {
	resourcelock.Interface
	reads chan resourcelock.LeaderElectionRecord
}

// hang is longer than any wait of a test takes that does not hang.
const hang = time.Minute

// answer is what the next read of the lease gets.
func (l *lease) answer(t *testing.T, record resourcelock.LeaderElectionRecord) {
	t.Helper()
	select {
	case l.reads <- record:
	case <-time.After(hang):
		t.Fatal("the election does not read the lease")
	}
}

func (l *lease) Identity() string { return "me" }

func (l *lease) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record := <-l.reads
	return &record, []byte(record.HolderIdentity + record.RenewTime.String()), nil
}

// waiting has an election wait for a lease, and returns what it sees in the end.
func waiting(t *testing.T, e *election) <-chan string {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		record, _, err := e.Get(t.Context())
		if err != nil {
			got <- err.Error()
			return
		}
		got <- record.HolderIdentity
	}()
	return got
}

func TestAStandbyTakesALeaseThatIsGivenBack(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	l := &lease{reads: make(chan resourcelock.LeaderElectionRecord)}
	e := &election{Interface: l, clock: clock}
	if e.Check(nil) == nil {
		t.Error("ready before anything is known")
	}
	got := waiting(t, e)
	held := resourcelock.LeaderElectionRecord{HolderIdentity: "other", LeaseDurationSeconds: 15}
	l.answer(t, held)
	step(t, clock, lookout)
	if err := e.Check(nil); err != nil {
		t.Errorf("a standby is not ready: %v", err)
	}
	l.answer(t, held) // it tries again after half a second, not after seconds
	step(t, clock, lookout)
	l.answer(t, resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1})
	if holder := received(t, got); holder != "" {
		t.Errorf("the lease is shown as %q's", holder)
	}
}

func TestALeaseThatHasRunOutIsFree(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	l := &lease{reads: make(chan resourcelock.LeaderElectionRecord)}
	got := waiting(t, &election{Interface: l, clock: clock})
	held := resourcelock.LeaderElectionRecord{HolderIdentity: "killed", LeaseDurationSeconds: 1}
	l.answer(t, held)
	step(t, clock, lookout)
	l.answer(t, held)
	step(t, clock, lookout)
	l.answer(t, held) // exactly a second: not over yet
	step(t, clock, lookout)
	l.answer(t, held)
	if holder := received(t, got); holder != "" {
		t.Errorf("the lease is shown as %q's", holder)
	}
}

func TestTheLeaderSeesItsOwnLeaseAtOnce(t *testing.T) {
	l := &lease{reads: make(chan resourcelock.LeaderElectionRecord)}
	got := waiting(t, &election{Interface: l, clock: clocktesting.NewFakeClock(time.Unix(0, 0))})
	l.answer(t, resourcelock.LeaderElectionRecord{HolderIdentity: "me", LeaseDurationSeconds: 15})
	if holder := received(t, got); holder != "me" {
		t.Errorf("the lease is shown as %q's", holder)
	}
}

// received is what a channel gets, within a bound that only a hang reaches.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hang); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen within %s", hang)
		}
	}
}

func received[T any](t *testing.T, got <-chan T) T {
	t.Helper()
	select {
	case v := <-got:
		return v
	case <-time.After(hang):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// step advances the clock once something waits for it.
func step(t *testing.T, clock *clocktesting.FakeClock, d time.Duration) {
	t.Helper()
	until(t, clock.HasWaiters)
	clock.Step(d)
}
