package controller

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/elb"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/alb"
)

// The status of a Rollout names its load balancers in AWS and their target groups, for analyses that read metrics of CloudWatch. Nothing is asked
// for that: what AWS has said about weights is enough, and it is written with the status that waits for those weights. Nothing is decided by it.

// report adds to a status what AWS has said about the load balancers of a Rollout. What this process has not asked about stays as it is recorded.
// Without verification there is nothing.
func (b *balancers) report(ro *v1alpha1.Rollout, status *v1alpha1.RolloutStatus) {
	var all []v1alpha1.ALBStatus
	if b != nil {
		for _, ingress := range alb.Ingresses(ro) {
			canary, stable := balanced(ro, status)
			found := b.found(client.ObjectKeyFromObject(ro), ingress)
			recorded := slices.IndexFunc(ro.Status.ALBs, func(one v1alpha1.ALBStatus) bool { return one.Ingress == ingress })
			switch {
			case found.Groups[canary] != "" && found.Groups[stable] != "":
				all = append(all, alb.Status(ingress, found.Balancer, found.Groups[canary], found.Groups[stable]))
			case recorded >= 0:
				all = append(all, ro.Status.ALBs[recorded])
			}
		}
	}
	status.ALBs, status.ALB = all, nil
	if len(all) > 0 {
		status.ALB = &all[len(all)-1]
	}
}

// balanced are the Services of the canary and of the stable version, which ping-pong exchanges.
func balanced(ro *v1alpha1.Rollout, status *v1alpha1.RolloutStatus) (canary, stable string) {
	if w := status.Canary.Weights; w != nil {
		return w.Canary.ServiceName, w.Stable.ServiceName
	}
	return ro.Spec.Strategy.Canary.CanaryService, ro.Spec.Strategy.Canary.StableService
}

func (b *balancers) found(rollout types.NamespacedName, ingress string) elb.Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.known[rollout][ingress]; one != nil {
		return one.found
	}
	return elb.Answer{}
}

// tellBalancers has the status name the load balancers of a Rollout that has analyses which read them there, where nothing else is written, and
// returns when to look for the answer of AWS. Without them such an analysis does not begin, and what waits for it would never ask about a weight.
func (r *RolloutReconciler) tellBalancers(ctx context.Context, seen plan.Observed, p plan.Plan) (time.Duration, error) {
	ro, key := seen.Rollout, client.ObjectKeyFromObject(seen.Rollout)
	names := alb.Ingresses(ro)
	if r.balancers == nil || p.Writes() || len(ro.Status.ALBs) >= len(names) || !readsBalancers(seen) {
		return 0, nil
	}
	again, kept := time.Duration(0), map[string]bool{}
	for _, name := range names {
		kept[name] = true
		object := seen.Routes[traffic.Key{GroupVersionKind: alb.GVK, NamespacedName: types.NamespacedName{Namespace: ro.Namespace, Name: name}}]
		if object == nil || r.balancers.found(key, name).Balancer != "" {
			continue
		}
		if _, in := r.balancers.standing(key, object); in > 0 && (again == 0 || in < again) {
			again = in
		}
	}
	r.balancers.keep(key, kept)
	to := *ro
	r.balancers.report(ro, &to.Status)
	if equality.Semantic.DeepEqual(ro.Status.ALBs, to.Status.ALBs) {
		return again, nil
	}
	return again, r.record(ctx, plan.Record{From: ro, To: &to})
}

// readsBalancers reports whether an argument of an analysis reads what the status says about load balancers.
func readsBalancers(seen plan.Observed) bool {
	const path = `"fieldPath":"status.alb`
	strategy, err := json.Marshal(seen.Rollout.Spec.Strategy)
	if err == nil && strings.Contains(string(strategy), path) {
		return true
	}
	for _, template := range seen.Templates {
		if text, err := json.Marshal(template); err == nil && strings.Contains(string(text), path) {
			return true
		}
	}
	return false
}
