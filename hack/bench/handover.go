//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// handOvers is how often a leader is stopped.
const handOvers = 5

// measureHandOver is how long nobody works when the leader is stopped. It stops the leader of two controllers, several times, and updates a rollout when it has ended. It times how long after the
// leader was told to stop the other one makes a ReplicaSet for the new version.
func (f *field) measureHandOver(ctx context.Context) (h timings, err error) {
	namespace, err := f.namespace(ctx)
	if err != nil {
		return h, err
	}
	leader, err := startController(f.cluster, f.folder)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, leader.stop()) }()
	one := herd{client: f.cluster.Client(), namespace: namespace, size: 1, replicas: 1}
	if err := one.create(ctx, strategyNamed("nine-steps")); err != nil {
		return h, err
	}
	var times []time.Duration
	for i := range handOvers {
		standby, err := startController(f.cluster, f.folder)
		if err != nil {
			return h, err
		}
		old := leader
		leader = standby
		took, err := f.handOver(ctx, old, standby, one, fmt.Sprintf("web:%d", i+2))
		if err != nil {
			return h, errors.Join(err, old.stop())
		}
		times = append(times, took)
	}
	return timingsOf(times), f.remove(ctx, namespace)
}

// handOver stops one controller and times the other's first write.
func (f *field) handOver(ctx context.Context, leader, standby *process, one herd, image string) (time.Duration, error) {
	if err := standby.ready(ctx); err != nil {
		return 0, err
	}
	var sets appsv1.ReplicaSetList
	if err := one.client.List(ctx, &sets, client.InNamespace(one.namespace)); err != nil {
		return 0, err
	}
	events, err := one.client.Watch(ctx, &sets, client.InNamespace(one.namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: sets.ResourceVersion}})
	if err != nil {
		return 0, err
	}
	defer events.Stop()
	made := make(chan time.Time, 1)
	go func() {
		for e := range events.ResultChan() {
			if e.Type == watch.Added {
				made <- time.Now()
				return
			}
		}
	}()
	told := time.Now()
	if err := leader.stop(); err != nil {
		return 0, err
	}
	if err := one.update(ctx, image); err != nil {
		return 0, err
	}
	return (<-made).Sub(told), nil
}
