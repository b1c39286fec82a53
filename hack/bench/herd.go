//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// herd is many rollouts of one kind.
type herd struct {
	client         client.WithWatch
	namespace      string
	size, replicas int
}

// patience is how long a herd may take for one phase.
const patience = 10 * time.Minute

func rolloutName(i int) string { return fmt.Sprintf("web%04d", i) }

// create makes all rollouts and waits until all are healthy.
func (h herd) create(ctx context.Context, s strategy) error {
	return h.each(ctx, func(ctx context.Context, i int) error {
		documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(s.manifests(rolloutName(i), h.replicas))), 4096)
		for {
			var obj unstructured.Unstructured
			err := documents.Decode(&obj.Object)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			obj.SetNamespace(h.namespace)
			if err := h.client.Create(ctx, &obj); err != nil {
				return err
			}
		}
	}, playtest.Healthy)
}

// update gives all rollouts another image and waits until all are healthy again.
func (h herd) update(ctx context.Context, image string) error {
	return h.updateUntil(ctx, image, playtest.Healthy)
}

// updateUntil gives all rollouts another image and waits until all are as wanted with it.
func (h herd) updateUntil(ctx context.Context, image string, wanted func(*v1alpha1.Rollout) bool) error {
	patch := client.RawPatch(types.JSONPatchType,
		[]byte(`[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "`+image+`"}]`))
	return h.each(ctx, func(ctx context.Context, i int) error {
		ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: rolloutName(i)}}
		return h.client.Patch(ctx, ro, patch)
	}, func(ro *v1alpha1.Rollout) bool {
		return ro.Spec.Template.Spec.Containers[0].Image == image && wanted(ro)
	})
}

// each does something to every rollout and waits until all are as wanted.
func (h herd) each(ctx context.Context, do func(context.Context, int) error, wanted func(*v1alpha1.Rollout) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not all rollouts came there within %s", patience))
	defer cancel()
	var list v1alpha1.RolloutList
	if err := h.client.List(ctx, &list, client.InNamespace(h.namespace)); err != nil {
		return err
	}
	events, err := h.client.Watch(ctx, &v1alpha1.RolloutList{}, client.InNamespace(h.namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	if err != nil {
		return err
	}
	defer events.Stop()

	failed := make(chan error, hands)
	next := make(chan int)
	for range hands {
		go func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	go func() {
		defer close(next)
		for i := range h.size {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	return h.await(ctx, events, failed, wanted)
}

// hands is how many requests are sent at once.
const hands = 8

func (h herd) await(ctx context.Context, events watch.Interface, failed <-chan error, wanted func(*v1alpha1.Rollout) bool) error {
	there := map[string]bool{}
	for len(there) < h.size {
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("%d of %d rollouts: %w", len(there), h.size, context.Cause(ctx))
		case e, open := <-events.ResultChan():
			ro, ok := e.Object.(*v1alpha1.Rollout)
			if !open || !ok {
				return fmt.Errorf("the watch of the rollouts ended: %v", e.Object)
			}
			if wanted(ro) {
				there[ro.Name] = true
			} else {
				delete(there, ro.Name)
			}
		}
	}
	return nil
}
