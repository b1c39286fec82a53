//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/plugin/plugintest"
)

// pluginRounds is how often the rollouts without plugins are updated, alone and again beside the others.
const pluginRounds = 8

// slowPlugins is what rollouts whose plugin does not answer cost those that have none.
type slowPlugins struct {
	rollouts      int
	alone, beside timings
}

// measurePlugins times the updates of n rollouts: alone, and again while as many others wait for a step plugin that has been asked and does not
// answer.
func (f *field) measurePlugins(ctx context.Context, n int) (p slowPlugins, err error) {
	p.rollouts = n
	samples, err := plugintest.Samples()
	if err != nil {
		return p, err
	}
	var asked atomic.Int32
	tarpit := newTarpit(&asked)
	defer tarpit.Close()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "argo-rollouts", Name: v1alpha1.ConfigMapName}, Data: map[string]string{
		"stepPlugins": fmt.Sprintf("[{name: test/slow, location: 'file://%s/scripted', args: [%q], timeout: 10m}]", samples, tarpit.URL),
	}}
	if err := f.cluster.Client().Create(ctx, config); err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, f.cluster.Client().Delete(ctx, config)) }()
	c, err := startController(f.cluster, f.folder, "--plugin-dir="+filepath.Join(f.folder, "plugins"))
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, c.stop()) }() // which also ends what waits for the tarpit
	plain, err := f.herdOf(ctx, n, strategyNamed("nine-steps"))
	if err != nil {
		return p, err
	}
	if p.alone, err = plain.timeUpdates(ctx, "alone"); err != nil {
		return p, err
	}
	slow, err := f.herdOf(ctx, n, strategy{spec: `{canary: {steps: [{setWeight: 50}, {plugin: {name: test/slow}}]}}`})
	if err != nil {
		return p, err
	}
	err = slow.updateUntil(ctx, "slow", func(ro *v1alpha1.Rollout) bool { return len(ro.Status.Canary.StepPluginStatuses) > 0 })
	if err != nil {
		return p, err
	}
	for int(asked.Load()) < n && ctx.Err() == nil {
		wait(ctx, 20*time.Millisecond)
	}
	p.beside, err = plain.timeUpdates(ctx, "beside")
	if waits := int(asked.Load()); err == nil && waits < n {
		err = fmt.Errorf("%d of %d rollouts still waited for their plugin", waits, n)
	}
	return p, err
}

func (f *field) herdOf(ctx context.Context, n int, s strategy) (herd, error) {
	namespace, err := f.namespace(ctx)
	if err != nil {
		return herd{}, err
	}
	h := herd{client: f.cluster.Client(), namespace: namespace, size: n, replicas: 2}
	return h, h.create(ctx, s)
}

// timeUpdates updates all rollouts several times, and times how long all of them take together.
func (h herd) timeUpdates(ctx context.Context, image string) (timings, error) {
	var times []time.Duration
	for i := range pluginRounds {
		started := time.Now()
		if err := h.updateUntil(ctx, fmt.Sprintf("%s:%d", image, i), playtest.Healthy); err != nil {
			return timings{}, err
		}
		times = append(times, time.Since(started))
	}
	return timingsOf(times), nil
}
