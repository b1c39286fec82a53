package explore

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// pauses checks that a pause lasts as long as it says.
func (r *rules) pauses(p sim.Pass, s spec.Rollout) {
	from, to := p.Plan.Record.From.Status, p.Plan.Record.To.Status
	for _, c := range to.PauseConditions {
		if len(from.PauseConditions) == 0 && c.StartTime.Time.Before(p.Observed.Now) {
			r.history.fail("pause", "a pause begins %s before it is written", p.Observed.Now.Sub(c.StartTime.Time))
		}
	}
	if len(from.PauseConditions) == 0 || !sameAttempt(from, to) {
		return
	}
	ends := func(pause spec.Pause) bool {
		return pause.Indefinite || p.Observed.Now.Before(from.PauseConditions[0].StartTime.Add(pause.Duration))
	}
	switch strategy := s.Strategy.(type) {
	case spec.Canary:
		if i := stepLeft(strategy, from, to); i >= 0 {
			if pause, ok := strategy.Steps[i].(spec.Pause); ok && ends(pause) {
				r.history.fail("pause", "step %d (%s) ends too early", i, pause)
			}
		}
	case spec.BlueGreen:
		if now, _ := seenToSelect(p.Observed, strategy.ActiveService); now == to.CurrentPodHash {
			return // someone switched it manually
		}
		if from.PauseConditions[0].Reason == v1alpha1.PauseReasonBlueGreenPause && len(to.PauseConditions) == 0 && strategy.Gate != nil && ends(*strategy.Gate) {
			r.history.fail("pause", "the pause before the switch (%s) ends too early", strategy.Gate)
		}
	}
}

// sameAttempt reports whether a pass went on with what was being done, and by itself.
func sameAttempt(from, to v1alpha1.RolloutStatus) bool {
	return from.CurrentPodHash == to.CurrentPodHash && from.CurrentStepHash == to.CurrentStepHash &&
		!to.PromoteFull && !from.PromoteFull && !to.Abort && !from.Abort && from.StableRS != from.CurrentPodHash
}

// stepLeft is the step that a pass went on from, -1 for none.
func stepLeft(c spec.Canary, from, to v1alpha1.RolloutStatus) int {
	if from.CurrentStepIndex == nil || to.CurrentStepIndex == nil {
		return -1
	}
	i := int(*from.CurrentStepIndex)
	if i < 0 || i >= len(c.Steps) || *to.CurrentStepIndex <= *from.CurrentStepIndex {
		return -1
	}
	return i
}

// steps checks that no step is left whose analysis has not passed.
func (r *rules) steps(p sim.Pass, s spec.Rollout) {
	from, to := p.Plan.Record.From.Status, p.Plan.Record.To.Status
	c, ok := s.Strategy.(spec.Canary)
	if !ok || !sameAttempt(from, to) || from.StableRS == "" {
		return
	}
	first := stepLeft(c, from, to)
	for i := first; i >= 0 && i < int(*to.CurrentStepIndex) && i < len(c.Steps); i++ {
		if _, ok := c.Steps[i].(spec.RunAnalysis); ok && !passed(p.Observed, from, i) {
			r.history.fail("analysis", "step %d is left before its analysis has passed", i)
		}
	}
}

// passed reports whether a run of a step has succeeded.
func passed(o plan.Observed, from v1alpha1.RolloutStatus, step int) bool {
	if last := from.Canary.CurrentStepAnalysisRunStatus; last != nil && last.Status == v1alpha1.AnalysisPhaseSuccessful {
		return true
	}
	for _, run := range o.AnalysisRuns {
		if run.Labels[v1alpha1.StepIndexLabel] == strconv.Itoa(step) && run.Status.Phase == v1alpha1.AnalysisPhaseSuccessful &&
			run.Labels[v1alpha1.PodTemplateHashLabel] == from.CurrentPodHash {
			return true
		}
	}
	return false
}

// promotion checks that only a version that can carry everything becomes the stable one.
func (r *rules) promotion(p sim.Pass, s spec.Rollout) {
	from, to := p.Plan.Record.From.Status, p.Plan.Record.To.Status
	if from.StableRS == "" || from.StableRS == to.StableRS {
		return
	}
	set := find(p.Observed, to.StableRS)
	switch strategy := s.Strategy.(type) {
	case spec.Canary:
		if strategy.Traffic != nil && strategy.Traffic.EnforceMaxSurge && carries(set) >= int(s.Replicas-strategy.MaxUnavailable) {
			return // the last pods have no room before the old version's are gone
		}
		if s.Replicas > 0 && (set == nil || !strategy.Threshold.Met(set.Status.AvailableReplicas, s.Replicas)) {
			r.history.fail("promotion", "%s is promoted before its pods are available", to.StableRS)
		}
	case spec.BlueGreen:
		if now := r.world.Selects(strategy.ActiveService); now != to.StableRS && p.Whole() && !r.meddled {
			r.history.fail("promotion", "%s is promoted while %s selects %s", to.StableRS, strategy.ActiveService, now)
		}
		if closed := r.closed(strategy, to, to.StableRS); closed != "" && !r.mayBePromoted(p, to.StableRS) {
			r.history.fail("gate", "%s is promoted, and %s", to.StableRS, closed)
		}
		run := to.BlueGreen.PostPromotionAnalysisRunStatus
		if strategy.PostPromotion != nil && !from.PromoteFull && !r.approved[to.StableRS] && !fastRollback(to) && (run == nil || run.Status != v1alpha1.AnalysisPhaseSuccessful) {
			r.history.fail("analysis", "%s is promoted before its analysis has passed", to.StableRS)
		}
	}
}

// mayBePromoted reports whether a version becomes the stable one by right, past a gate that is closed: by a person, for having served, or for what it
// takes the place of being gone.
func (r *rules) mayBePromoted(p sim.Pass, hash string) bool {
	from := p.Observed.Rollout.Status
	return from.PromoteFull || from.BlueGreen.ActiveSelector == "" || r.served[hash] || carries(find(p.Observed, from.StableRS)) == 0
}

func fastRollback(s v1alpha1.RolloutStatus) bool {
	return s.Duration != nil && s.Duration.CompletionStatus == v1alpha1.CompletionFastRolledBack
}

func revision(rs *appsv1.ReplicaSet) int {
	if rs == nil {
		return 0
	}
	n, _ := strconv.Atoi(rs.Annotations[v1alpha1.RevisionAnnotation])
	return n
}
