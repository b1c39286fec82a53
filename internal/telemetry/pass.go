package telemetry

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// passing is the pass that a context belongs to.
type passing struct{}

// pass is one pass over one object.
type pass struct{ wrote bool }

// Wrote notes that this pass has written something.
func Wrote(ctx context.Context) {
	if p, ok := ctx.Value(passing{}).(*pass); ok {
		p.wrote = true
	}
}

// Measured has the passes of a controller counted. The queue tells when the news came that a pass answers.
func (m *Meters) Measured(kind Kind, clk clock.PassiveClock, queue *Queue, next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		begun := clk.Now()
		p := &pass{}
		result, err := next.Reconcile(context.WithValue(ctx, passing{}, p), request)
		now := clk.Now()
		if !apierrors.IsConflict(err) {
			m.Pass(kind, request.NamespacedName, now.Sub(begun), err)
		}
		if came := queue.came(request); p.wrote && !came.IsZero() {
			m.Reacted(kind, now.Sub(came))
		}
		return result, err
	})
}
