package check

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim/explore"
)

// TestFaultsOfTheCore puts back faults that people found by using Sluice, by their numbers in the issue "Faults of the core", and demands that the
// search finds each, by a history of which no step can be left out: it is the shortest one.
func TestFaultsOfTheCore(t *testing.T) {
	for name, tt := range map[string]struct {
		world, rule string
		engine      explore.Engine
		// steps is how long the shortest history is.
		steps int
	}{
		"1: blue-green keeps a Service at a version whose ReplicaSet was deleted": {"blue-green-gate", "repair", staysAtGone, 8},
		"1: blue-green takes the last pods away with an abort":                    {"blue-green-gate", "last", takesLast, 9},
		"2: an active Service that was edited by hand is not repaired":            {"blue-green-gate", "repair", repairsNothing, 2},
		"2: an edit of the active Service counts as a promotion":                  {"blue-green-gate", "gate", promotesByEdit, 8},
		"3: a Service that the spec names no more is given back at once":          {"blue-green-rename", "release", givesBack, 5},
		"8: progressDeadlineAbort does nothing once the deadline has passed":      {"deadline", "live", abortsInTimeOnly, 25},
		"12: what carries everything holds the room that the new version needs":   {"room", "live", holdsRoom, 15},
	} {
		t.Run(name, func(t *testing.T) {
			w := Named(tt.world)
			r := Search(t.Context(), w, tt.engine, Limits{States: 60000, Unreduced: true})
			if r.Found == nil {
				t.Fatalf("nothing is found: %s", Line(r))
			}
			if r.Found.Rule != tt.rule || len(r.Found.steps) != tt.steps {
				t.Errorf("it breaks %s after %d steps, want %s after %d:\n%s", r.Found.Rule, len(r.Found.steps), tt.rule, tt.steps, r.Found.Story(w, tt.engine))
			}
			told(t, w, tt.engine, r.Found)
		})
	}
}

func hash(labels map[string]string) string { return labels[v1alpha1.PodTemplateHashLabel] }

// gone reports whether the stable version has no ReplicaSet.
func gone(o plan.Observed) bool {
	stable := o.Rollout.Status.StableRS
	return stable != "" && !slices.ContainsFunc(o.ReplicaSets, func(rs *appsv1.ReplicaSet) bool { return hash(rs.Labels) == stable })
}

// without is a plan without some of its changes of Services.
func without(p plan.Plan, drop func(from, to *corev1.Service) bool) plan.Plan {
	p.Route = slices.DeleteFunc(slices.Clone(p.Route), func(c change.Change) bool {
		u, ok := c.(change.UpdateService)
		return ok && drop(u.From, u.To)
	})
	return p
}

func staysAtGone(o plan.Observed) plan.Plan {
	p := plan.Next(o)
	if !gone(o) {
		return p
	}
	return without(p, func(from, _ *corev1.Service) bool { return hash(from.Spec.Selector) == o.Rollout.Status.StableRS })
}

func takesLast(o plan.Observed) plan.Plan {
	p := plan.Next(o)
	if !gone(o) || !o.Rollout.Status.Abort {
		return p
	}
	for _, rs := range o.ReplicaSets {
		if hash(rs.Labels) == o.Rollout.Status.CurrentPodHash && *rs.Spec.Replicas > 0 {
			to := rs.DeepCopy()
			*to.Spec.Replicas = 0
			p.Shrink = []change.Change{change.UpdateReplicaSet{From: rs, To: to}}
		}
	}
	return p
}

func repairsNothing(o plan.Observed) plan.Plan {
	return without(plan.Next(o), func(from, _ *corev1.Service) bool {
		selected := hash(from.Spec.Selector)
		return selected != "" && !slices.ContainsFunc(o.ReplicaSets, func(rs *appsv1.ReplicaSet) bool { return hash(rs.Labels) == selected })
	})
}

func promotesByEdit(o plan.Observed) plan.Plan {
	s := o.Rollout.Status
	for _, service := range o.Services {
		if b := o.Rollout.Spec.Strategy.BlueGreen; service.Name == b.ActiveService && hash(service.Spec.Selector) == s.CurrentPodHash && s.CurrentPodHash != s.StableRS {
			ro := *o.Rollout
			ro.Status.PromoteFull = true
			o.Rollout = &ro
		}
	}
	return plan.Next(o)
}

func givesBack(o plan.Observed) plan.Plan {
	p := plan.Next(o)
	b := o.Rollout.Spec.Strategy.BlueGreen
	for _, service := range o.Services {
		named := service.Name == b.ActiveService || service.Name == b.PreviewService
		if named || service.Annotations[v1alpha1.ManagedByAnnotation] == "" {
			continue
		}
		p = without(p, func(from, _ *corev1.Service) bool { return from.Name == service.Name })
		to := service.DeepCopy()
		delete(to.Spec.Selector, v1alpha1.PodTemplateHashLabel)
		delete(to.Annotations, v1alpha1.ManagedByAnnotation)
		p.Route = append(p.Route, change.UpdateService{From: service, To: to})
	}
	return p
}

func abortsInTimeOnly(o plan.Observed) plan.Plan {
	if slices.ContainsFunc(o.Rollout.Status.Conditions, func(c v1alpha1.RolloutCondition) bool { return c.Reason == v1alpha1.ReasonProgressDeadlineExceeded }) {
		ro := *o.Rollout
		ro.Spec.ProgressDeadlineAbort = false
		o.Rollout = &ro
	}
	return plan.Next(o)
}

// holdsRoom leaves superseded versions their pods where the stable one is gone.
func holdsRoom(o plan.Observed) plan.Plan {
	p := plan.Next(o)
	if !gone(o) {
		return p
	}
	p.Shrink = slices.DeleteFunc(slices.Clone(p.Shrink), func(c change.Change) bool {
		u, ok := c.(change.UpdateReplicaSet)
		return ok && hash(u.From.Labels) != o.Rollout.Status.CurrentPodHash
	})
	return p
}
