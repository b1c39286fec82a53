//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// updates is how often the one rollout is updated whose reactions are timed.
const updates = 5

// timings are what several measurements of one time came to.
type timings struct {
	samples            int
	median, p99, worst time.Duration
}

func timingsOf(times []time.Duration) timings {
	slices.Sort(times)
	last := len(times) - 1
	return timings{samples: len(times), median: times[len(times)/2], p99: times[(99*last+99)/100], worst: times[last]}
}

// measureReaction is how long after pods became available the controller's next write was there. It updates one rollout in nine steps,
// several times, and times what follows each time that a ReplicaSet's pods became available. Both moments are those at which a watcher learns of them.
func (f *field) measureReaction(ctx context.Context) (r timings, err error) {
	namespace, err := f.namespace(ctx)
	if err != nil {
		return r, err
	}
	c, err := startController(f.cluster, f.folder)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	one := herd{client: f.cluster.Client(), namespace: namespace, size: 1, replicas: 3}
	if err := one.create(ctx, strategyNamed("nine-steps")); err != nil {
		return r, err
	}
	s, err := watchReactions(ctx, f.cluster.Client(), namespace)
	if err != nil {
		return r, err
	}
	for i := range updates {
		if err := one.update(ctx, fmt.Sprintf("web:%d", i+2)); err != nil {
			return r, err
		}
	}
	times := s.stop()
	if len(times) == 0 {
		return r, errors.New("no pod became available")
	}
	return timingsOf(times), f.remove(ctx, namespace)
}

// reactions times one rollout.
type reactions struct {
	cancel context.CancelFunc
	ended  chan struct{}
	// ready is when pods became available that nothing has followed yet.
	ready time.Time
	times []time.Duration
	sets  map[string]*appsv1.ReplicaSet
}

func watchReactions(ctx context.Context, c client.WithWatch, namespace string) (*reactions, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &reactions{cancel: cancel, ended: make(chan struct{}), sets: map[string]*appsv1.ReplicaSet{}}
	sets, err1 := c.Watch(ctx, &appsv1.ReplicaSetList{}, client.InNamespace(namespace))
	rollouts, err2 := c.Watch(ctx, &v1alpha1.RolloutList{}, client.InNamespace(namespace))
	if err := errors.Join(err1, err2); err != nil {
		cancel()
		return nil, err
	}
	go func() {
		defer close(r.ended)
		for {
			var e watch.Event
			select {
			case <-ctx.Done():
				return
			case e = <-sets.ResultChan():
			case e = <-rollouts.ResultChan():
			}
			r.see(e, time.Now())
		}
	}()
	return r, nil
}

func (r *reactions) see(e watch.Event, at time.Time) {
	switch obj := e.Object.(type) {
	case *v1alpha1.Rollout:
		r.follow(at)
	case *appsv1.ReplicaSet:
		before := r.sets[obj.Name]
		r.sets[obj.Name] = obj
		if before == nil || before.Generation != obj.Generation {
			r.follow(at)
			return
		}
		wanted := *obj.Spec.Replicas
		if before.Status.AvailableReplicas < wanted && obj.Status.AvailableReplicas == wanted {
			r.ready = at
		}
	}
}

// follow notes that the controller has written.
func (r *reactions) follow(at time.Time) {
	if !r.ready.IsZero() {
		r.times = append(r.times, at.Sub(r.ready))
	}
	r.ready = time.Time{}
}

func (r *reactions) stop() []time.Duration {
	r.cancel()
	<-r.ended
	return r.times
}

func strategyNamed(name string) strategy {
	return strategies[slices.IndexFunc(strategies, func(s strategy) bool { return s.name == name })]
}
