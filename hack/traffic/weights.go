//go:build linux

package main

import (
	"context"
	"slices"
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

	mu   sync.Mutex
	seen []weighed
}

type weighed struct {
	at     time.Time
	canary string // the version that gets it
	weight int32
	paused bool
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
	if ro.Status.Canary.Weights == nil {
		return
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
	}
	w.seen = append(w.seen, now)
}

func (w *weights) stop() {
	w.watch.Stop()
	<-w.done
}

// shares are those of all pauses that were long enough to tell, without the time that the data plane takes to follow.
func (w *weights) shares(l *load.Ledger, lag time.Duration) (all []share) {
	w.mu.Lock()
	seen := slices.Clone(w.seen)
	w.mu.Unlock()
	for i := 0; i+1 < len(seen); i++ {
		if !seen[i].paused || seen[i].weight == 0 {
			continue
		}
		from, to := l.At(seen[i].at.Add(lag+time.Second))+1, l.At(seen[i+1].at)
		if to-from < 2 {
			continue
		}
		asked := float64(seen[i].weight) / 100
		got, p := l.Share(seen[i].canary, asked, from, to)
		all = append(all, share{asked: asked, got: got, p: p, seconds: to - from})
	}
	return all
}
