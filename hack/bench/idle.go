//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// resync is how often the controller looks at everything again in the measurement of idle rollouts.
const resync = 30 * time.Second

// idle is what rollouts cost that do nothing.
type idle struct {
	rollouts int
	// caughtUp is the time from the start of a controller until it has looked at all of them once, and needed the processor for cpu.
	caughtUp, cpu time.Duration
	resident      int64
	// restart and resync are the controller's writes when it starts above them and when it looks at all of them again.
	restart, resync int
}

// measureIdle has rollouts without pods created, starts another controller above them, and waits until it has looked at all of them
// twice.
func (f *field) measureIdle(ctx context.Context, n int) (r idle, err error) {
	r.rollouts = n
	namespace, err := f.namespace(ctx)
	if err != nil {
		return r, err
	}
	if err := f.createIdle(ctx, namespace, n); err != nil {
		return r, err
	}
	if _, _, err := f.audit.read(); err != nil {
		return r, err
	}
	c, err := startController(f.cluster, f.folder, fmt.Sprintf("--rollout-resync=%d", int(resync.Seconds())))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	if err := c.looked(ctx, n); err != nil {
		return r, err
	}
	r.caughtUp = time.Since(c.started)
	if r.cpu, err = c.cpu(); err != nil {
		return r, err
	}
	if r.resident, err = c.resident(); err != nil {
		return r, err
	}
	if r.restart, err = f.writes(); err != nil {
		return r, err
	}
	if err := c.looked(ctx, 2*n); err != nil {
		return r, err
	}
	r.resync, err = f.writes()
	return r, err // what is left goes with the playground: it comes last
}

func (f *field) createIdle(ctx context.Context, namespace string, n int) error {
	c, err := startController(f.cluster, f.folder)
	if err != nil {
		return err
	}
	herd := herd{client: f.cluster.Client(), namespace: namespace, size: n}
	err = herd.create(ctx, strategyNamed("canary"))
	wait(ctx, settling) // until the last counts are written, which wait for a moment
	return errors.Join(err, c.stop())
}

func (f *field) writes() (int, error) {
	all, _, err := f.audit.read()
	return count(all).writes(), err
}

// looked waits until the controller has made this many passes and has none left.
func (p *process) looked(ctx context.Context, passes int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the controller made no %d passes within %s", passes, patience))
	defer cancel()
	const rollouts = `="rollout"`
	for ctx.Err() == nil {
		if p.metric("controller_runtime_reconcile_total", rollouts) >= float64(passes) && p.metric("workqueue_depth", rollouts) == 0 {
			return nil
		}
		wait(ctx, 20*time.Millisecond)
	}
	return context.Cause(ctx)
}
