package kubelet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReadWishes(t *testing.T) {
	plain := wishes{readyAfter: time.Second, unreadyAfter: forever, readyAgainAfter: forever, crashAfter: forever}
	tests := map[string]struct {
		annotations map[string]string
		change      func(*wishes)
		problem     string
	}{
		"none":                  {},
		"a Go duration":         {annotations: map[string]string{ReadyAfterAnnotation: "1m30s"}, change: func(w *wishes) { w.readyAfter = 90 * time.Second }},
		"seconds":               {annotations: map[string]string{UnreadyAfterAnnotation: "90"}, change: func(w *wishes) { w.unreadyAfter = 90 * time.Second }},
		"never ready":           {annotations: map[string]string{ReadyAfterAnnotation: "never"}, change: func(w *wishes) { w.readyAfter = forever }},
		"crashing at once":      {annotations: map[string]string{CrashLoopAnnotation: "true"}, change: func(w *wishes) { w.crashAfter = 0 }},
		"crashing later":        {annotations: map[string]string{CrashLoopAnnotation: "5s"}, change: func(w *wishes) { w.crashAfter = 5 * time.Second }},
		"crashing switched off": {annotations: map[string]string{CrashLoopAnnotation: "false"}},
		"no image":              {annotations: map[string]string{ImagePullAnnotation: "fail"}, change: func(w *wishes) { w.pullFails = true }},
		"a duration below zero": {
			annotations: map[string]string{ReadyAfterAnnotation: "-3s"},
			problem:     `annotation playground.sluice.dev/ready-after: "-3s" is not a duration such as 3s or 1m30s`,
		},
		"a word that is unknown": {
			annotations: map[string]string{ImagePullAnnotation: "false"},
			problem:     `annotation playground.sluice.dev/image-pull: "false" is neither fail nor ok`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod()
			pod.Annotations = test.annotations
			want := plain
			if test.change != nil {
				test.change(&want)
			}
			got, err := readWishes(pod, testOptions)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(wishes{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			problem := ""
			if err != nil {
				problem = err.Error()
			}
			if problem != test.problem {
				t.Errorf("problem %q, want %q", problem, test.problem)
			}
		})
	}
}

func TestDeletionRequested(t *testing.T) {
	tests := map[string]struct {
		asked, seen, want time.Duration // after the epoch
	}{
		"seen a moment after it was asked": {400 * time.Millisecond, 410 * time.Millisecond, 410 * time.Millisecond},
		// The API keeps only the second; its end is never too early.
		"seen after a restart": {400 * time.Millisecond, time.Minute, time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod(deleted(30))
			pod.DeletionTimestamp = &metav1.Time{Time: epoch.Add(test.asked).Add(30 * time.Second).Truncate(time.Second)}
			if got := deletionRequested(pod, epoch.Add(test.seen)).Sub(epoch); got != test.want {
				t.Errorf("after %s, want %s", got, test.want)
			}
		})
	}
}
