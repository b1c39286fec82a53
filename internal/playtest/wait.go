package playtest

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// await watches one object until it is as wanted. An object that is not there is not as wanted.
func await[T client.Object](ctx context.Context, c client.WithWatch, list client.ObjectList, namespace, name string, wanted func(T) bool) error {
	options := []client.ListOption{
		client.InNamespace(namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", name)},
	}
	for { // a watch may end early, for example when it fell too far behind
		if err := c.List(ctx, list, options...); err != nil {
			return err
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return err
		}
		for _, item := range items {
			if obj, ok := item.(T); ok && wanted(obj) {
				return nil
			}
		}
		events, err := c.Watch(ctx, list, append(options, &client.ListOptions{Raw: since(list)})...)
		if err != nil {
			return err
		}
		if found := follow(ctx, events, wanted); found {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("waited in vain: %w", context.Cause(ctx))
		}
	}
}

func follow[T k8sruntime.Object](ctx context.Context, events watch.Interface, wanted func(T) bool) bool {
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case e, open := <-events.ResultChan():
			if !open || e.Type == watch.Error {
				return false
			}
			if obj, ok := e.Object.(T); ok && e.Type != watch.Deleted && wanted(obj) {
				return true
			}
		}
	}
}

// WaitUntil asks again and again until there is no error. It is for what cannot be watched; what says what that is.
func (ns *Namespace) WaitUntil(what string, ask func() error) {
	ns.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(ns.t.Context(), 50*time.Millisecond, Patience, true, func(context.Context) (bool, error) {
		last = ask()
		return last == nil, nil
	})
	if err != nil {
		ns.t.Fatalf("wait until %s: %v: %v", what, err, last)
	}
}
