//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// settling is how long rollouts are left alone after they were created: counts wait for a second, and events for those before them.
const settling = 5 * time.Second

// rest is how long rollouts are left alone after an update, and quiet the end of it in which nothing must be written.
const (
	rest  = 30 * time.Second
	quiet = 20 * time.Second
)

// field is where measurements take place.
type field struct {
	cluster *playtest.Cluster
	audit   *auditLog
	folder  string
	wishes  wishes
}

// phase is what was measured between two moments.
type phase struct {
	wall, cpu time.Duration
	resident  int64
	requests  requests
	// playground is the processor time of the API server and of all that runs with it, others how many requests these and the bench made.
	playground time.Duration
	others     int
	// passes are how often the controller looked at a Rollout.
	passes int
}

// result is what one strategy costs.
type result struct {
	strategy              strategy
	rollouts              int
	create, update, after phase
	trailing              int   // writes in the last part of the rest
	program               int64 // bytes of memory that hold the program itself
}

// measure has rollouts of one strategy created, updated and left alone.
func (f *field) measure(ctx context.Context, s strategy, rollouts int) (r result, err error) {
	r.strategy, r.rollouts = s, rollouts
	namespace, err := f.namespace(ctx)
	if err != nil {
		return r, err
	}
	c, err := startController(f.cluster, f.folder)
	if err != nil {
		return r, err
	}
	defer func() {
		if stopped := c.stop(); err == nil {
			err = stopped
		}
	}()
	herd := herd{client: f.cluster.Client(), namespace: namespace, size: rollouts, replicas: f.wishes.replicas}

	finish := func() {}
	phases := []struct {
		name string
		into *phase
		do   func() error
	}{
		{"created", &r.create, func() error { return herd.create(ctx, s) }},
		{"updated", &r.update, func() error {
			finish = f.profile(c, s.name)
			return herd.update(ctx, "web:2")
		}},
		{"left alone", &r.after, func() error {
			wait(ctx, rest-quiet)
			finish()
			return nil
		}},
	}
	var update []request
	for i, p := range phases {
		if i == 1 { // what is told late of the creation belongs to it
			if err := f.settle(ctx, c, &r.create); err != nil {
				return r, err
			}
		}
		all, err := f.during(c, p.into, p.do)
		if err != nil {
			return r, err
		}
		progress("  %s: %.1f s", p.name, p.into.wall.Seconds())
		if i > 0 {
			update = append(update, all...)
		}
	}
	var trailing phase
	all, err := f.during(c, &trailing, func() error {
		wait(ctx, quiet)
		return nil
	})
	if err != nil {
		return r, err
	}
	if r.program, err = c.program(); err != nil {
		return r, err
	}
	r.trailing = trailing.requests.writes()
	r.after = phase{
		wall: r.after.wall + trailing.wall, cpu: r.after.cpu + trailing.cpu,
		resident: trailing.resident, passes: r.after.passes + trailing.passes, requests: r.after.requests.add(trailing.requests),
	}
	if f.wishes.trace {
		printTrace(append(update, all...), rolloutName(0))
	}
	return r, f.remove(ctx, namespace)
}

// settle waits until a phase has nothing more to tell, and counts what is told then.
func (f *field) settle(ctx context.Context, c *process, into *phase) error {
	var late phase
	_, err := f.during(c, &late, func() error {
		wait(ctx, settling)
		return nil
	})
	into.requests = into.requests.add(late.requests)
	into.cpu += late.cpu
	into.passes += late.passes
	return err
}

// during measures what the controller needs while something goes on.
func (f *field) during(c *process, into *phase, do func() error) ([]request, error) {
	if _, _, err := f.audit.read(); err != nil {
		return nil, err
	}
	before, err1 := c.cpu()
	playground, err2 := processorTime(f.cluster.Pid())
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	passes := c.passes()
	start := time.Now()
	if err := do(); err != nil {
		return nil, err
	}
	into.wall = time.Since(start)
	after, err1 := c.cpu()
	playgroundAfter, err2 := processorTime(f.cluster.Pid())
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	into.cpu, into.playground = after-before, playgroundAfter-playground
	into.passes = c.passes() - passes
	var err error
	if into.resident, err = c.resident(); err != nil {
		return nil, err
	}
	all, others, err := f.audit.read()
	into.requests, into.others = count(all), others
	return all, err
}

func (f *field) namespace(ctx context.Context) (string, error) {
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}
	err := f.cluster.Client().Create(ctx, made)
	return made.Name, err
}

// remove deletes a namespace and waits until nothing of it is left that the next controller would look at.
func (f *field) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("namespace %s was not gone within %s", name, patience))
	defer cancel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := f.cluster.Client().Delete(ctx, namespace); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := f.cluster.Client().Get(ctx, client.ObjectKeyFromObject(namespace), namespace); apierrors.IsNotFound(err) {
			return nil
		}
		wait(ctx, time.Second)
	}
	return context.Cause(ctx)
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
