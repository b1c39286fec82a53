package controller

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestJudgingTakesTurnsByNamespace: who has a hundred that wait does not keep one of another namespace waiting for all of them.
func TestJudgingTakesTurnsByNamespace(t *testing.T) {
	turn := newTurns(1)
	if err := turn.take(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	wait := func(ctx context.Context, namespace string) {
		before := waitingFor(turn)
		go func() {
			if turn.take(ctx, namespace) == nil {
				got <- namespace
			}
		}()
		until(t, func() bool { return waitingFor(turn) == before+1 })
	}
	ctx, cancel := context.WithCancel(t.Context())
	for _, namespace := range []string{"a", "a", "a", "b", "a", "c", "b"} {
		wait(t.Context(), namespace)
	}
	wait(ctx, "d")
	cancel()
	until(t, func() bool { return waitingFor(turn) == 7 })
	var order []string
	for range 7 {
		turn.give()
		order = append(order, received(t, got))
	}
	turn.give()
	if diff := cmp.Diff([]string{"a", "b", "c", "a", "b", "a", "a"}, order); diff != "" {
		t.Errorf("the turns (-want +got):\n%s", diff)
	}
	if n := waitingFor(turn); turn.free != 1 || n > 0 {
		t.Errorf("%d are free, and %d wait, when all are done", turn.free, n)
	}
}

func waitingFor(t *turns) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.line.Len()
}

func until(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hang); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen within %s", hang)
		}
	}
}
