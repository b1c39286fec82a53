package kubelet

import (
	"fmt"
	"math"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Annotations of a pod that say how it behaves. The package's documentation has the table of their values.
const (
	// ReadyAfterAnnotation is how long after its start a container is ready, or "never".
	ReadyAfterAnnotation = "playground.sluice.dev/ready-after"
	// UnreadyAfterAnnotation is how long after it became ready a container turns unready.
	UnreadyAfterAnnotation = "playground.sluice.dev/unready-after"
	// ReadyAgainAfterAnnotation is how long after that it is ready once more.
	ReadyAgainAfterAnnotation = "playground.sluice.dev/ready-again-after"
	// ImagePullAnnotation with the value "fail" keeps the pod's images from being pulled.
	ImagePullAnnotation = "playground.sluice.dev/image-pull"
	// CrashLoopAnnotation makes containers crash as they start ("true") or a duration after.
	CrashLoopAnnotation = "playground.sluice.dev/crash-loop"
)

// forever is a duration that does not end.
const forever = time.Duration(math.MaxInt64)

// wishes are a pod's annotations, read.
type wishes struct {
	readyAfter      time.Duration
	unreadyAfter    time.Duration // forever: stays ready
	readyAgainAfter time.Duration // forever: stays unready
	crashAfter      time.Duration // forever: does not crash
	pullFails       bool
}

// readWishes reads the annotations of a pod. Of several that are wrong the last is reported; those get their defaults.
func readWishes(pod *corev1.Pod, o Options) (wishes, error) {
	var problem error
	read := func(name string, fallback time.Duration, words map[string]time.Duration) time.Duration {
		text, given := pod.Annotations[name]
		if !given {
			return fallback
		}
		if d, known := words[text]; known {
			return d
		}
		d, err := parseDuration(text)
		if err != nil {
			problem = fmt.Errorf("annotation %s: %w", name, err)
			return fallback
		}
		return d
	}
	w := wishes{
		readyAfter:      read(ReadyAfterAnnotation, o.PodReadyAfter, map[string]time.Duration{"never": forever}),
		unreadyAfter:    read(UnreadyAfterAnnotation, forever, nil),
		readyAgainAfter: read(ReadyAgainAfterAnnotation, forever, nil),
		crashAfter:      read(CrashLoopAnnotation, forever, map[string]time.Duration{"true": 0, "false": forever}),
	}
	switch text, given := pod.Annotations[ImagePullAnnotation]; {
	case text == "fail":
		w.pullFails = true
	case given && text != "ok":
		problem = fmt.Errorf("annotation %s: %q is neither fail nor ok", ImagePullAnnotation, text)
	}
	return w, problem
}

// parseDuration reads "1m30s" or a plain number of seconds.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if seconds, ierr := strconv.ParseUint(text, 10, 31); ierr == nil {
		d, err = time.Duration(seconds)*time.Second, nil
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration such as 3s or 1m30s", text)
	}
	return d, nil
}

// later is t after d; the zero time, which never comes, if d is forever.
func later(t time.Time, d time.Duration) time.Time {
	if t.IsZero() || d == forever {
		return time.Time{}
	}
	return t.Add(d)
}

// reached tells whether the moment t has come.
func reached(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }

// earliest is the first of the moments that come at all.
func earliest(moments ...time.Time) time.Time {
	var first time.Time
	for _, t := range moments {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
