package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// discreet has a pass that panics say what broke without the values that it was about: controller-runtime logs the text of a panic, with its stack,
// before it tries again, and a text may quote the value of a Secret.
func discreet(next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		defer func() {
			if broken := recover(); broken != nil {
				panic(withoutValues(broken))
			}
		}()
		return next.Reconcile(ctx, request)
	})
}

// survive does something that no pass waits for. If it panics the process goes on: others have no part in it.
func survive(log *slog.Logger, do func()) {
	defer func() {
		if broken := recover(); broken != nil {
			log.Error("a background task panicked", "panic", withoutValues(broken), "stack", string(debug.Stack()))
		}
	}()
	do()
}

// withoutValues is what may be said of a panic: what the Go runtime found, which is about indices and types, or else the type of its value.
func withoutValues(broken any) string {
	var found runtime.Error
	if err, ok := broken.(error); ok && errors.As(err, &found) {
		return found.Error()
	}
	return fmt.Sprintf("a %T, withheld because it may quote a Secret; the stack says where", broken)
}
