//go:build linux

package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/hack/traffic/load"
)

// weights are the weights that a Rollout's status showed, each from a moment on.
type weights struct {
	watch watch.Interface
	done  chan struct{}
	// count is how many requests the pods of a version have answered; nil if that is of no interest.
	count func(version string) (int, error)

	mu   sync.Mutex
	seen []weighed
}

type weighed struct {
	at     time.Time
	canary string // the version that gets it
	weight int32
	paused bool
	// answered is how many requests the canary's pods had answered when a pause without a weight ended.
	answered int
	err      error
}

// share is what a version got while its weight did not change.
type share struct {
	asked, got, p float64
	seconds       int
}

// follow records the weights until stop is called.
func follow(ctx context.Context, c client.WithWatch, namespace string) (*weights, error) {
	events, err := c.Watch(ctx, &v1alpha1.RolloutList{}, client.InNamespace(namespace))
	if err != nil {
		return nil, err
	}
	w := &weights{watch: events, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for e := range events.ResultChan() {
			if ro, ok := e.Object.(*v1alpha1.Rollout); ok {
				w.see(ro)
			}
		}
	}()
	return w, nil
}

func (w *weights) see(ro *v1alpha1.Rollout) {
	if ro.Status.Canary.Weights == nil || ro.Status.ObservedGeneration != strconv.FormatInt(ro.Generation, 10) {
		return // the status of another spec says nothing of this one's version
	}
	_, tag, _ := strings.Cut(ro.Spec.Template.Spec.Containers[0].Image, ":")
	now := weighed{at: time.Now(), canary: tag, weight: ro.Status.Canary.Weights.Canary.Weight, paused: ro.Status.Phase == v1alpha1.RolloutPhasePaused}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) > 0 {
		last := w.seen[len(w.seen)-1]
		if last.canary == now.canary && last.weight == now.weight && last.paused == now.paused {
			return
		}
		if w.count != nil && last.paused && last.weight == 0 {
			now.answered, now.err = w.count(last.canary)
		}
	}
	w.seen = append(w.seen, now)
}

func (w *weights) stop() {
	w.watch.Stop()
	<-w.done
}

// shares are those of all pauses with a weight that were long enough to tell.
func (w *weights) shares(l *load.Ledger, lag time.Duration) (all []share) {
	w.pauses(lag, func(now weighed, from, to time.Time) {
		if now.weight > 0 {
			all = append(all, shareOf(l, now.canary, float64(now.weight)/100, from, to)...)
		}
	})
	return all
}

// byHeader are those of the pauses without a weight: requests with the header go to the canary, and no others. How many of them do while a pod of the
// canary ends is not judged: that they are all answered is.
func (w *weights) byHeader(r result, lag time.Duration) (all []share) {
	w.pauses(lag, func(now weighed, from, to time.Time) {
		if now.weight == 0 {
			switch {
			case r.cell.strategy.beta == betaMirrored:
				all = append(all, shareOf(r.beta, now.canary, 0, from, to)...)
			case !r.cell.event.ends:
				all = append(all, shareOf(r.beta, now.canary, 1, from, to)...)
			}
			all = append(all, shareOf(r.ledger, now.canary, 0, from, to)...)
		}
	})
	return all
}

// copies are those that the canary got of the requests in a ledger while it had no weight, and how many of these there were: at least while the data
// plane had certainly learned of the mirror, and at most from the beginning of the update on.
func (w *weights) copies(l *load.Ledger, lag time.Duration) (c copies, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := 0; i+1 < len(w.seen); i++ {
		now, next := w.seen[i], w.seen[i+1]
		if !now.paused || now.weight > 0 {
			continue
		}
		c.got, err = c.got+next.answered, errors.Join(err, next.err)
		for second := l.At(now.at.Add(lag+time.Second)) + 1; second < l.At(next.at)-1; second++ {
			c.least += sumOf(l.Second(second))
		}
		for second := max(0, l.At(now.at)-5); second <= l.At(next.at); second++ {
			c.most += sumOf(l.Second(second))
		}
	}
	return c, err
}

func sumOf(versions map[string]load.Count) (n int) {
	for _, c := range versions {
		n += c.Sum()
	}
	return n
}

// pauses calls a function for each pause, without the time that the data plane takes to follow.
func (w *weights) pauses(lag time.Duration, each func(now weighed, from, to time.Time)) {
	w.mu.Lock()
	seen := slices.Clone(w.seen)
	w.mu.Unlock()
	for i := 0; i+1 < len(seen); i++ {
		if seen[i].paused {
			each(seen[i], seen[i].at.Add(lag+time.Second), seen[i+1].at)
		}
	}
}

// shareOf is what a version got between two moments, none if they are too close to tell.
func shareOf(l *load.Ledger, version string, asked float64, begin, end time.Time) []share {
	from, to := l.At(begin)+1, l.At(end)
	if to-from < 2 {
		return nil
	}
	got, p := l.Share(version, asked, from, to)
	return []share{{asked: asked, got: got, p: p, seconds: to - from}}
}
