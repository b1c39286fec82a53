package explore

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// routedMutants are faults that only canaries with routers, or Services of their own, can show.
var routedMutants = map[string]struct {
	rule   string // that must find it
	engine Engine
}{
	"moves weight before pods": {"weight", says(func(o plan.Observed, p *plan.Plan) {
		p.Route = sees(func(rs *appsv1.ReplicaSet) { rs.Status.AvailableReplicas = *rs.Spec.Replicas })(o).Route
	})},
	"shrinks before it routes":                  {"weight", says(shrinkAtOnce)},
	"points a Service that carries weight":      {"weight", says(pointAtOnce)},
	"keeps clients on a version without weight": {"fixpoint", says(keepClients)},
	"forgets the delay of a superseded canary":  {"delay", sees(pastDeadline)},
	"raises the weight during an abort": {"abort", says(func(o plan.Observed, p *plan.Plan) {
		if ro := o.Rollout; ro.Status.Abort {
			p.Route = edited(func(ro *v1alpha1.Rollout) { ro.Status.Abort, ro.Status.AbortedAt = false, nil })(o).Route
		}
	})},
}

// shrinkAtOnce takes for done, when it takes pods away, what this very pass is to write to routers.
func shrinkAtOnce(o plan.Observed, p *plan.Plan) {
	if p.Record == nil || len(p.Route) == 0 {
		return
	}
	routes := maps.Clone(o.Routes)
	for _, c := range p.Route {
		if w, ok := c.(change.WriteRoute); ok && w.To != nil {
			routes[traffic.KeyOf(w.To)] = w.To
		}
	}
	o.Routes, o.Rollout = routes, p.Record.To
	o.ServicesLive, o.RoutesLive = true, true
	p.Shrink = append(p.Shrink, plan.Next(o).Shrink...)
}

// keepClients leaves the rules of sessions in a route that is to lose them.
func keepClients(_ plan.Observed, p *plan.Plan) {
	for i, c := range p.Route {
		w, ok := c.(change.WriteRoute)
		if !ok || w.From == nil || w.To == nil || len(sessionRules(w.From)) == 0 || len(sessionRules(w.To)) > 0 {
			continue
		}
		w.To = w.To.DeepCopy()
		rules, _, _ := unstructured.NestedSlice(w.To.Object, "spec", "rules")
		w.To.Object["spec"].(map[string]any)["rules"] = append(rules, sessionRules(w.From)...)
		p.Route[i] = w
	}
}

func sessionRules(o *unstructured.Unstructured) []any {
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	return slices.DeleteFunc(rules, func(rule any) bool {
		name, _ := rule.(map[string]any)["name"].(string)
		return !strings.Contains(name, ".session.")
	})
}

// pointAtOnce points a canary Service that carries weight at the new version as soon as that has a pod.
func pointAtOnce(o plan.Observed, p *plan.Plan) {
	c, hash := o.Rollout.Spec.Strategy.Canary, o.Rollout.Status.CurrentPodHash
	w := o.Rollout.Status.Canary.Weights
	if c == nil || c.CanaryService == "" || w == nil || w.Canary.Weight == 0 || carries(find(o, hash)) == 0 {
		return
	}
	for _, s := range o.Services {
		if s.Name == c.CanaryService && selected(s) != "" && selected(s) != hash {
			to := s.DeepCopy()
			to.Spec.Selector[v1alpha1.PodTemplateHashLabel] = hash
			p.Route = []change.Change{change.UpdateService{From: s, To: to}}
		}
	}
}

// TestRoutedMutantsAreFound proves that the rules about routers bite.
func TestRoutedMutantsAreFound(t *testing.T) {
	for name, mutant := range routedMutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isFound(t, mutant.rule, func(seed uint64) *Fault {
				return Play(Trial{Seed: seed, Routed: true}, Subject{Engine: mutant.engine}, nil)
			})
		})
	}
}
