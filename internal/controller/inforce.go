package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/alb"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// shownAfter is how long a wait for what routers write to be in force may take before the status mentions it. Most take less.
const shownAfter = 5 * time.Second

// notInForce ends a pass that may not count on what is written in its routes. Pods are created and routes are written all the same. Analyses, what
// removes pods, and the record wait: no step ends, and nothing loses its pods, before the traffic has moved.
type notInForce struct {
	standing traffic.Standing
	// again is when the pass is repeated if nothing is seen before.
	again time.Duration
	// quiet: it has just begun.
	quiet bool
}

func (n notInForce) Error() string { return n.standing.Awaited + n.standing.Refused }

// awaited is since when an object is waited for.
type awaited struct {
	generation int64
	since      time.Time
	// written is since when every pass has had to write it.
	written time.Time
	// given is set when the wait has ended without an answer, told when an event has said what is wrong.
	given, told bool
}

// inForce returns a [notInForce] where a plan counts on routes that are not known to be in force as they are.
func (r *RolloutReconciler) inForce(ctx context.Context, seen plan.Observed, p plan.Plan) error {
	if r.routeTimeout == 0 && r.balancers == nil || !countsOnRoutes(seen.Rollout.Status, p) {
		return nil
	}
	known, wait := r.memory.awaited(client.ObjectKeyFromObject(seen.Rollout)), notInForce{}
	next, ingresses := map[traffic.Key]awaited{}, map[string]bool{}
	for _, ref := range routers.RefsWith(seen.Rollout, seen.Policy) {
		key := ref.Key()
		object := seen.Routes[key]
		if object == nil || !r.tellsStanding(object) {
			continue
		}
		one := known[key]
		standing, again := r.standing(&one, object, writes(p, key), seen)
		ingresses[ref.Name] = ref.Kind == alb.GVK.Kind
		if again == 0 && standing.Awaited != "" {
			r.goOn(ctx, seen.Rollout, standing, &one)
		}
		if again > 0 {
			wait = wait.with(standing, again, seen.Now.Sub(one.since) < shownAfter)
			r.warn(seen.Rollout, standing, &one)
			if key.Group == alb.GVK.Group && seen.Now.Sub(one.since) >= shownAfter {
				r.warnUnverified(seen.Rollout, ref.Name, "Weights", standing.Awaited)
			}
		}
		if one != (awaited{}) {
			next[key] = one
		}
	}
	r.memory.await(client.ObjectKeyFromObject(seen.Rollout), next)
	r.balancers.keep(client.ObjectKeyFromObject(seen.Rollout), ingresses)
	if wait.again == 0 {
		return nil
	}
	return r.tellWait(ctx, seen, wait)
}

// countsOnRoutes reports whether a plan is a decision that traffic that has not moved would make wrong. Between updates there is none: all traffic
// goes to one version, whatever the weights.
func countsOnRoutes(was v1alpha1.RolloutStatus, p plan.Plan) bool {
	is := was
	if p.Record != nil {
		is = p.Record.To.Status
	}
	if !splits(was) && !splits(is) {
		return false
	}
	stepEnds := was.CurrentPodHash == is.CurrentPodHash && !equality.Semantic.DeepEqual(was.CurrentStepIndex, is.CurrentStepIndex)
	return stepEnds || len(p.Shrink) > 0 || was.StableRS != is.StableRS ||
		!equality.Semantic.DeepEqual(was.Canary.Weights, is.Canary.Weights)
}

// splits reports whether there are two versions, or the canary Service has traffic.
func splits(s v1alpha1.RolloutStatus) bool {
	return s.StableRS != "" && (s.StableRS != s.CurrentPodHash || s.Canary.Weights != nil && s.Canary.Weights.Canary.Weight > 0)
}

// tellsStanding reports whether it can be known what became of an object.
func (r *RolloutReconciler) tellsStanding(object *unstructured.Unstructured) bool {
	switch object.GroupVersionKind().Group {
	case gatewayapi.GVK("").Group:
		return r.routeTimeout > 0
	case alb.GVK.Group:
		return r.balancers != nil
	}
	return false
}

// writes reports whether a plan writes a route.
func writes(p plan.Plan, key traffic.Key) bool {
	for _, made := range p.Route {
		if c, ok := made.(change.WriteRoute); ok && c.To != nil && traffic.KeyOf(c.To) == key {
			return true
		}
	}
	return false
}

// standing is what is known of an object, and when to ask again: never, where the wait has taken as long as it may.
func (r *RolloutReconciler) standing(one *awaited, object *unstructured.Unstructured, written bool, seen plan.Observed) (traffic.Standing, time.Duration) {
	now := seen.Now
	if !written && object.GroupVersionKind().Group == alb.GVK.Group {
		if one.written = (time.Time{}); one.since.IsZero() {
			one.since = now
		}
		s, again := r.balancers.standing(client.ObjectKeyFromObject(seen.Rollout), object)
		if again == 0 {
			*one = awaited{}
		}
		return s, again
	}
	if written { // the next pass sees it, unless someone else changes it each time
		if one.written.IsZero() {
			one.written, one.since = now, now
		}
		s := traffic.Standing{Awaited: fmt.Sprintf("%s %q to stay as it was written", object.GetKind(), object.GetName())}
		if object.GroupVersionKind().Group != alb.GVK.Group && now.Sub(one.written) >= r.routeTimeout {
			return s, 0
		}
		return s, backoffShortest
	}
	one.written = time.Time{}
	s := gatewayapi.Standing(object)
	switch {
	case s.Refused != "":
		if one.since.IsZero() {
			one.since = now
		}
		return s, refusedRetry
	case s.Awaited == "":
		*one = awaited{}
		return s, 0
	case one.given && s.Silent:
		return s, 0
	}
	if one.generation != object.GetGeneration() || one.since.IsZero() {
		*one = awaited{generation: object.GetGeneration(), since: now}
	}
	until := one.since.Add(r.routeTimeout)
	if !now.Before(until) {
		return s, 0
	}
	if shown := one.since.Add(shownAfter); now.Before(shown) && shown.Before(until) {
		until = shown
	}
	return s, until.Sub(now)
}

// with adds one object to what is waited for.
func (n notInForce) with(s traffic.Standing, again time.Duration, quiet bool) notInForce {
	join := func(all *string, text string) {
		if *all != "" && text != "" {
			*all += "; "
		}
		*all += text
	}
	join(&n.standing.Awaited, s.Awaited)
	join(&n.standing.Refused, s.Refused)
	n.quiet = quiet && s.Refused == "" && (n.quiet || n.again == 0)
	if n.again == 0 || again < n.again {
		n.again = again
	}
	return n
}

// warn says once in an event why an object is not in force.
func (r *RolloutReconciler) warn(ro *v1alpha1.Rollout, s traffic.Standing, one *awaited) {
	if s.Refused == "" || one.told {
		return
	}
	one.told = true
	r.events.Event(ro, corev1.EventTypeWarning, v1alpha1.EventWeightVerifyError, clean.Text("Failed to verify weight: "+s.Refused))
}

// warnUnverified says once in an event that AWS takes its time to confirm something, until it has.
func (r *RolloutReconciler) warnUnverified(ro *v1alpha1.Rollout, key, what, awaited string) {
	if r.balancers.tell(client.ObjectKeyFromObject(ro), key) {
		r.events.Event(ro, corev1.EventTypeWarning, v1alpha1.EventTargetGroupUnverified, clean.Text(what+" are not verified yet: waiting for "+awaited))
	}
}

// goOn says once that a wait has ended without an answer.
func (r *RolloutReconciler) goOn(ctx context.Context, ro *v1alpha1.Rollout, s traffic.Standing, one *awaited) {
	if one.given {
		return
	}
	one.given = true
	text := clean.Text(fmt.Sprintf("Failed to verify weight: waited %s for %s; the update continues as if it were in force", r.routeTimeout, s.Awaited))
	r.log.WarnContext(ctx, text, "rollout", client.ObjectKeyFromObject(ro).String())
	r.events.Event(ro, corev1.EventTypeWarning, v1alpha1.EventWeightVerifyError, text)
}

// tellWait has the status say what is waited for, once that takes its time, and returns it.
func (r *RolloutReconciler) tellWait(ctx context.Context, seen plan.Observed, wait notInForce) error {
	if wait.quiet {
		return wait
	}
	phase, text := v1alpha1.RolloutPhaseProgressing, "waiting for "+wait.standing.Awaited
	if wait.standing.Refused != "" {
		phase, text = v1alpha1.RolloutPhaseDegraded, v1alpha1.EventWeightVerifyError+": "+wait.standing.Refused
	}
	rec := plan.Withheld(seen.Rollout, phase, text)
	if rec == nil {
		return wait
	}
	if err := r.record(ctx, *rec); err != nil {
		return err
	}
	r.meters.Updated(&rec.From.Status, &rec.To.Status)
	return wait
}

// waits is how long until a pass is repeated that ended with a [notInForce], or for want of [noRights].
func waits(err error) (time.Duration, bool) {
	var wait notInForce
	var lacks noRights
	if errors.As(err, &lacks) {
		return refusedRetry, true
	}
	ok := errors.As(err, &wait)
	return wait.again, ok
}
