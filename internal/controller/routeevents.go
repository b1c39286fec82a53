package controller

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/plugin"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// Some routers have events of their own, by which people of Argo Rollouts are notified. What they say, the routers know (package routers); here is when:
//
//   - of a write, right after it was done. A write that only restores what someone else has changed has [RolloutReconciler.tellRestored] alone, and
//     one without an answer has none: the next pass finds it done, and does not know by whom;
//   - of a write that the API server rejects, once for each different answer, however often it is tried;
//   - of a problem with an object, beside the InvalidSpec that mentions it first.

// tellRoute publishes the events of a write to an object of a traffic router.
func (r *RolloutReconciler) tellRoute(rollout *v1alpha1.Rollout, c change.WriteRoute, err error) {
	key := client.ObjectKeyFromObject(rollout)
	switch {
	case c.To == nil || c.Release:
		r.memory.forgetsRoute(key, traffic.KeyOf(c.From))
	case err == nil && c.To.GroupVersionKind() != plugin.Kind && !r.tellRestored(rollout, c.To):
		r.tell(rollout, routers.Events(rollout, c.From, c.To)...)
	}
	r.tellRejected(rollout, c, err)
}

// tellRejected says once what the API server says to a write, until it accepts one.
func (r *RolloutReconciler) tellRejected(rollout *v1alpha1.Rollout, c change.WriteRoute, err error) {
	key, object := client.ObjectKeyFromObject(rollout), routers.FormatKey(routers.Written(c.From, c.To))
	switch {
	case err == nil:
		r.memory.accepted(key, refusedWrites, object)
	case refused(err) || apierrors.IsInternalError(err): // the latter is a webhook that does not answer
		answer := apiMessage(err)
		known := r.memory.refusals(key, refusedWrites)[object].Message == answer
		r.memory.refused(key, refusedWrites, object, change.Refusal{Message: answer, At: r.clock.Now()})
		if !known {
			r.tell(rollout, routers.FailureEvents(rollout, c.From, c.To, answer)...)
		}
	}
}

// tellTroubles publishes what routers have to say about problems that the condition InvalidSpec mentions now and did not before.
func (r *RolloutReconciler) tellTroubles(seen plan.Observed, p plan.Plan) {
	if p.Record == nil {
		return
	}
	was, is := problemsIn(p.Record.From), problemsIn(p.Record.To)
	if was == is {
		return
	}
	for _, trouble := range routers.Troubles(seen.Rollout, seen.Routes) {
		if problem := clean.Text(trouble.Problem); strings.Contains(is, problem) && !strings.Contains(was, problem) {
			r.tell(seen.Rollout, trouble.Event)
		}
	}
}

// problemsIn is what a Rollout's condition InvalidSpec says.
func problemsIn(ro *v1alpha1.Rollout) string {
	for _, c := range ro.Status.Conditions {
		if c.Type == v1alpha1.ConditionInvalidSpec {
			return c.Message
		}
	}
	return ""
}

// tell publishes events of routers, which quote what others wrote.
func (r *RolloutReconciler) tell(rollout *v1alpha1.Rollout, all ...traffic.Event) {
	for _, e := range all {
		e.Message = clean.Text(e.Message)
		tellEvents(r.events, rollout, []change.Event{change.Event(e)})
	}
}
