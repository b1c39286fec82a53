package view_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/view"
)

var update = flag.Bool("update", false, "rewrite the pictures in testdata")

var pictures = map[string]func() *world{
	"canary-timed-pause": func() *world {
		return canaryWorld(5, weight(20), pause("1m"), weight(40), pause("")).
			status(v1alpha1.RolloutPhasePaused, "CanaryPauseStep").step(1).hashes("6d9f7c5b8d", "5b94c8d7f6").
			paused(v1alpha1.PauseReasonCanaryPauseStep, 25*time.Second).
			version(1, "5b94c8d7f6", "nginx:1.15.4", 4).
			version(2, "6d9f7c5b8d", "nginx:1.16.0", 1)
	},
	"canary-bad-image": func() *world {
		return canaryWorld(5, weight(20), pause("")).
			status(v1alpha1.RolloutPhaseProgressing, "updated replicas are still becoming available").step(0).hashes("7f8c9d6b5d", "5b94c8d7f6").
			version(1, "5b94c8d7f6", "registry.example.com/shop/frontend/web-server:2026-02-28-a1b2c3d", 4).
			version(2, "7f8c9d6b5d", "registry.example.com/shop/frontend/web-server:bad", 1,
				waiting("ImagePullBackOff", `Back-off pulling image "registry.example.com/shop/frontend/web-server:bad"`))
	},
	"canary-aborted": func() *world {
		w := canaryWorld(3, weight(20), pause(""), weight(60)).
			status(v1alpha1.RolloutPhaseDegraded, "RolloutAborted: Rollout aborted update to revision 3: Step-based analysis phase error/failed: "+
				"Metric \"success-rate\" assessed Failed due to failed (2) > failureLimit (1)").step(0).hashes("7f8c9d6b5d", "5b94c8d7f6").
			version(1, "84d8f5c9b7", "nginx:1.15.4", 0).
			version(2, "5b94c8d7f6", "nginx:1.16.0", 3).
			version(3, "7f8c9d6b5d", "nginx:1.17.0", 1, crashing)
		w.Rollout.Status.Abort = true
		return w
	},
	"canary-healthy": func() *world {
		return canaryWorld(2, weight(20), pause("")).
			status(v1alpha1.RolloutPhaseHealthy, "").step(2).hashes("6d9f7c5b8d", "6d9f7c5b8d").
			version(1, "5b94c8d7f6", "nginx:1.15.4", 0).
			version(2, "6d9f7c5b8d", "nginx:1.16.0", 2)
	},
	"canary-warnings": func() *world {
		w := canaryWorld(5, weight(20), pause("")).
			status(v1alpha1.RolloutPhasePaused, "CanaryPauseStep").step(1).hashes("6d9f7c5b8d", "5b94c8d7f6").
			version(2, "6d9f7c5b8d", "nginx:1.16.0", 1)
		w.Rollout.Status.Conditions = []v1alpha1.RolloutCondition{
			{Type: v1alpha1.ConditionCanaryOverload, Status: corev1.ConditionTrue, Message: "spec.strategy.canary.steps[1]: 90 % of the traffic goes to 1 pod"},
			{Type: v1alpha1.ConditionPodMetadataFailure, Status: corev1.ConditionFalse, Message: "not shown"},
		}
		return w
	},
	"blue-green": func() *world {
		w := blueGreenWorld(2, 90).
			status(v1alpha1.RolloutPhasePaused, "BlueGreenPause").hashes("6d9f7c5b8d", "5b94c8d7f6").
			paused(v1alpha1.PauseReasonBlueGreenPause, 30*time.Second).
			version(1, "84d8f5c9b7", "nginx:1.14.2", 2).
			version(2, "5b94c8d7f6", "nginx:1.15.4", 2).
			version(3, "6d9f7c5b8d", "nginx:1.16.0", 2)
		w.Rollout.Status.BlueGreen.ActiveSelector = "5b94c8d7f6"
		w.Rollout.Status.BlueGreen.PreviewSelector = "6d9f7c5b8d"
		w.ReplicaSets[0].Annotations[v1alpha1.ScaleDownDeadlineAnnotation] = now.Add(18 * time.Second).Format(time.RFC3339)
		return w
	},
}

func TestText(t *testing.T) {
	for name, build := range pictures {
		t.Run(name, func(t *testing.T) {
			r := view.Of(build().Objects, now)
			for _, columns := range []int{80, 120, 200} {
				golden(t, fmt.Sprintf("%s-%d.txt", name, columns), r.Text(view.TextOptions{Width: columns}))
			}
			golden(t, name+"-pipe.txt", r.Text(view.TextOptions{})+"\n"+r.Summary()+"\n")
		})
	}
}

func TestColors(t *testing.T) {
	r := view.Of(pictures["canary-bad-image"]().Objects, now)
	golden(t, "colors-80.txt", strings.ReplaceAll(r.Text(view.TextOptions{Width: 80, Colors: true}), "\x1b", "^"))
}

// What does not fit is folded, step by step, and never more than fits is drawn.
func TestHeight(t *testing.T) {
	steps := []v1alpha1.CanaryStep{}
	for n := range int32(10) {
		steps = append(steps, weight(10*(n+1)), pause("1m"))
	}
	w := canaryWorld(10, steps...).status(v1alpha1.RolloutPhasePaused, "CanaryPauseStep").step(7).
		hashes("6d9f7c5b8d", "5b94c8d7f6").paused(v1alpha1.PauseReasonCanaryPauseStep, 59*time.Second).
		version(1, "84d8f5c9b7", "nginx:1.14.2", 0).
		version(2, "98c7b6d5f4", "nginx:1.15.0", 0).
		version(3, "5b94c8d7f6", "nginx:1.15.4", 5).
		version(4, "6d9f7c5b8d", "nginx:1.16.0", 5)
	r := view.Of(w.Objects, now)
	for _, rows := range []int{60, 52, 30, 24, 12} {
		text := r.Text(view.TextOptions{Width: 100, Height: rows})
		if n := strings.Count(text, "\n"); n > rows {
			t.Errorf("%d lines in a terminal of %d", n, rows)
		}
		golden(t, fmt.Sprintf("height-%d.txt", rows), text)
	}
}

// No line is ever wider than the terminal, whatever is in the names and messages, and nothing in them reaches it as a command.
func TestWidth(t *testing.T) {
	w := canaryWorld(5, weight(20), pause("")).
		status(v1alpha1.RolloutPhaseDegraded, "日本語のとても長いメッセージ 👩‍🚀 é\x1b[2J "+strings.Repeat("x", 90)).step(0).hashes("b", "a").
		version(1, "a", "nginx@sha256:"+strings.Repeat("0123456789abcdef", 4), 4).
		version(2, "b", "nginx:日本語", 1, waiting("ErrImagePull", "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字\x1b[31m"))
	r := view.Of(w.Objects, now)
	for columns := 1; columns < 220; columns++ {
		for _, colors := range []bool{false, true} {
			text := r.Text(view.TextOptions{Width: columns, Colors: colors})
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if colors {
					line = uncolored(line)
				}
				if n := view.Width(line); n > columns {
					t.Fatalf("line of %d columns in a terminal of %d: %q", n, columns, line)
				}
				if strings.Contains(line, "\x1b") {
					t.Fatalf("escape sequence of a message drawn: %q", line)
				}
			}
		}
	}
}

func uncolored(s string) string {
	for _, c := range []string{"0", "1", "2", "31", "32", "33", "36"} {
		s = strings.ReplaceAll(s, "\x1b["+c+"m", "")
	}
	return s
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s\nRun the test with -update if this is how it should look.", name, diff)
	}
}
