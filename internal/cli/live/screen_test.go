package live_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/view"
)

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func sight(phase v1alpha1.RolloutPhase, message string) live.Sight {
	return live.Sight{Objects: view.Objects{Rollout: &v1alpha1.Rollout{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", CreationTimestamp: metav1.NewTime(start)},
		Spec:       v1alpha1.RolloutSpec{Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{}}},
		Status:     v1alpha1.RolloutStatus{Phase: phase, Message: message},
	}}}
}

// show runs Show over the sights. The clock advances by a second whenever Show waits for it.
func show(t *testing.T, s live.Screen, sights ...live.Sight) (string, error) {
	t.Helper()
	var out bytes.Buffer
	clock := clocktesting.NewFakeClock(start)
	s.Out, s.Clock = &out, clock
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		for ctx.Err() == nil {
			if clock.HasWaiters() {
				clock.Step(time.Second)
			}
		}
	})
	feed := make(chan live.Sight)
	wg.Go(func() {
		for _, sight := range sights {
			select {
			case feed <- sight:
			case <-ctx.Done():
				return
			}
		}
	})
	err := s.Show(ctx, feed, func(r view.Rollout) bool { return r.Status.Icon == view.IconHealthy })
	return out.String(), err
}

// Into a pipe: the picture, then a line for each thing that happens, and none when nothing does.
func TestShowIntoAPipe(t *testing.T) {
	progressing, paused, healthy := sight("Progressing", "more replicas need to be updated"), sight("Paused", "CanaryPauseStep"), sight("Healthy", "")
	lost := paused
	lost.Trouble = errors.New("connection\nrefused")
	got, err := show(t, live.Screen{LinesOnly: true}, progressing, progressing, paused, lost, lost, healthy)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(got) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), "  ") // after the time
		lines = append(lines, text)
	}
	want := []string{
		"◌ Progressing - more replicas need to be updated", "॥ Paused - CanaryPauseStep", "no news: connection refused", "✔ Healthy",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err = show(t, live.Screen{}, progressing, healthy)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got, "Name:            web\n") || !strings.HasSuffix(got, "  ✔ Healthy\n") || strings.Contains(got, "\x1b") {
		t.Errorf("got:\n%s", got)
	}
}

// On a terminal: each picture is drawn over the last one, no line is wider and no picture higher than the terminal, and the cursor,
// hidden meanwhile, comes back however it ends.
func TestShowOnATerminal(t *testing.T) {
	for name, tt := range map[string]struct {
		last live.Sight
		err  error
	}{
		"done":    {last: sight("Healthy", "")},
		"deleted": {last: live.Sight{Gone: true}, err: live.GoneError{Noun: "rollout", Name: "web"}},
	} {
		t.Run(name, func(t *testing.T) {
			terminal := live.Screen{Size: func() (int, int) { return 30, 12 }}
			lost := sight("Progressing", strings.Repeat("much to tell ", 20))
			lost.Trouble = errors.New(strings.Repeat("no connection ", 10))
			got, err := show(t, terminal, sight("Paused", "CanaryPauseStep"), lost, tt.last)
			if !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			body, ok := strings.CutPrefix(got, strings.Repeat("\n", 11)+"\x1b[?25l")
			body, ends := strings.CutSuffix(body, "\x1b[?25h")
			if !ok || !ends {
				t.Errorf("the cursor is not hidden or does not come back: %q", got)
			}
			pictures := strings.Split(body, "\x1b[H")[1:]
			if len(pictures) < 2 {
				t.Fatalf("%d pictures", len(pictures))
			}
			for _, p := range pictures {
				if n := strings.Count(p, "\n"); n > 11 {
					t.Errorf("%d lines:\n%s", n, p)
				}
				p, cleared := strings.CutSuffix(p, "\x1b[J")
				if !cleared {
					t.Errorf("what was below is not erased: %q", p)
				}
				for line := range strings.Lines(p) {
					line, erased := strings.CutSuffix(line, "\x1b[K\n")
					if !erased || len([]rune(line)) > 30 {
						t.Errorf("line %q", line)
					}
				}
			}
		})
	}
}

// Ctrl-C.
func TestShowIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	s := live.Screen{Out: &out, Clock: clocktesting.NewFakeClock(start), Size: func() (int, int) { return 80, 24 }}
	if err := s.Show(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if !strings.HasSuffix(out.String(), "\x1b[?25h") {
		t.Errorf("the cursor stays hidden: %q", out.String())
	}
}
