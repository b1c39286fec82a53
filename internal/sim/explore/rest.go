package explore

import (
	"maps"
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// rest checks that a rollout that sleeps will wake, unless it waits for a person.
func (r *rules) rest() {
	if r.history.fault != nil || !r.world.Due().IsZero() {
		return
	}
	ro := r.world.Rollout()
	switch s := ro.Status; s.Phase {
	case v1alpha1.RolloutPhaseHealthy, v1alpha1.RolloutPhaseDegraded:
	case v1alpha1.RolloutPhasePaused:
		if ro.Spec.Paused {
			return
		}
		if !r.waitsForPerson() {
			r.history.fail("wake", "a pause that ends by itself has nobody to wake it: %s", summary(r.world))
		}
		r.share()
	default:
		r.history.fail("wake", "nobody will look again: %s", summary(r.world))
	}
	r.verdicts()
}

func (r *rules) waitsForPerson() bool {
	ro, now := r.world.Rollout(), r.now()
	s := ro.Status
	if !now.ok || len(s.PauseConditions) == 0 {
		return false
	}
	for _, c := range s.PauseConditions {
		if c.Reason == v1alpha1.PauseReasonInconclusiveAnalysis || c.Reason == v1alpha1.PauseReasonInconclusiveExperiment {
			return true
		}
	}
	switch strategy := now.spec.Strategy.(type) {
	case spec.Canary:
		if i := s.CurrentStepIndex; i != nil && int(*i) < len(strategy.Steps) {
			pause, ok := strategy.Steps[*i].(spec.Pause)
			return ok && pause.Indefinite
		}
	case spec.BlueGreen:
		return strategy.Gate != nil && strategy.Gate.Indefinite
	}
	return false
}

// verdicts checks that an analysis that failed has ended the update.
func (r *rules) verdicts() {
	ro, now := r.world.Rollout(), r.now()
	s := ro.Status
	if !now.ok || ro.Spec.Paused || s.Abort || s.StableRS == s.CurrentPodHash || s.PromoteFull || s.Phase == v1alpha1.RolloutPhaseDegraded {
		return
	}
	for _, run := range []*v1alpha1.RolloutAnalysisRunStatus{
		s.BlueGreen.PrePromotionAnalysisRunStatus, s.BlueGreen.PostPromotionAnalysisRunStatus,
		s.Canary.CurrentStepAnalysisRunStatus, s.Canary.CurrentBackgroundAnalysisRunStatus,
	} {
		if run != nil && (run.Status == v1alpha1.AnalysisPhaseFailed || run.Status == v1alpha1.AnalysisPhaseError) {
			r.history.fail("analysis", "%s has failed and the update goes on: %s", run.Name, summary(r.world))
		}
	}
}

// end checks how everything ends.
func (r *rules) end() {
	ro, now := r.world.Rollout(), r.now()
	s := ro.Status
	if !now.ok || s.StableRS != s.CurrentPodHash || s.Phase != v1alpha1.RolloutPhaseHealthy || s.CurrentPodHash == "" {
		r.history.fail("end", "%s", summary(r.world))
		return
	}
	r.woundUp()
	r.endOfSets(now.spec)
	r.endOfServices(now.spec)
	r.endOfRoutes(now.spec)
	r.endOfRuns(now.spec)
	r.endOfPods(now.spec)
	if d := r.world.Deployment(); ro.Spec.WorkloadRef != nil && d != nil && *d.Spec.Replicas > 0 &&
		(ro.Spec.WorkloadRef.ScaleDown == v1alpha1.ScaleDownOnSuccess || ro.Spec.WorkloadRef.ScaleDown == v1alpha1.ScaleDownProgressively) {
		r.history.fail("end", "the Deployment still has %d pods", *d.Spec.Replicas)
	}
}

func (r *rules) endOfSets(s spec.Rollout) {
	old := 0
	for _, rs := range r.world.ReplicaSets() {
		if hashOf(rs) != r.world.Rollout().Status.CurrentPodHash {
			old++
			if replicas(rs) != 0 {
				r.history.fail("end", "%s still has pods", rs.Name)
			}
			continue
		}
		if replicas(rs) != int(s.Replicas) {
			r.history.fail("end", "%s has %d pods of %d", rs.Name, replicas(rs), s.Replicas)
		}
		if !spec.SameTemplate(&s.Template, spec.Bare(rs)) {
			r.history.fail("end", "%s is not of the template that is asked for", rs.Name)
		}
	}
	if old > s.RevisionHistoryLimit {
		r.history.fail("end", "%d old ReplicaSets are kept, not %d", old, s.RevisionHistoryLimit)
	}
	if r.world.Available() != int(s.Replicas) {
		r.history.fail("end", "%d pods of %d are available", r.world.Available(), s.Replicas)
	}
}

// endOfServices checks that those that the spec names select the one version, and that others are given back.
func (r *rules) endOfServices(s spec.Rollout) {
	var named []string
	if b, ok := s.Strategy.(spec.BlueGreen); ok {
		named = []string{b.ActiveService, b.PreviewService}
	}
	if c, ok := s.Strategy.(spec.Canary); ok {
		named = []string{c.CanaryService.Name, c.StableService.Name}
	}
	for _, name := range r.history.services() {
		service := r.world.Service(name)
		if service == nil {
			continue
		}
		owner, hash := service.Annotations[v1alpha1.ManagedByAnnotation], selected(service)
		if slices.Contains(named, name) {
			if c, canary := s.Strategy.(spec.Canary); canary && c.Traffic == nil && s.Replicas == 0 && owner == "" {
				continue // nobody has answered yet
			}
			if owner != "web" || hash != r.world.Rollout().Status.CurrentPodHash {
				r.history.fail("end", "%s selects %q for %q", name, hash, owner)
			}
		} else if owner == "web" {
			r.history.fail("end", "%s is not given back", name)
		}
	}
}

func (r *rules) endOfRuns(s spec.Rollout) {
	good, bad := 0, 0
	status := r.world.Rollout().Status
	for _, run := range r.world.Runs() {
		switch run.Status.Phase {
		case v1alpha1.AnalysisPhaseSuccessful:
			good++
		case v1alpha1.AnalysisPhaseFailed, v1alpha1.AnalysisPhaseError, v1alpha1.AnalysisPhaseInconclusive:
			bad++
		default:
			r.history.fail("end", "%s still runs", run.Name)
		}
	}
	remembered := 0 // which are kept beyond the limits
	for _, run := range []*v1alpha1.RolloutAnalysisRunStatus{
		status.BlueGreen.PrePromotionAnalysisRunStatus, status.BlueGreen.PostPromotionAnalysisRunStatus,
		status.Canary.CurrentStepAnalysisRunStatus, status.Canary.CurrentBackgroundAnalysisRunStatus,
	} {
		if run != nil {
			remembered++
		}
	}
	if good > s.RunHistory.Successful+remembered || bad > s.RunHistory.Unsuccessful+remembered {
		r.history.fail("end", "%d good and %d bad analyses are kept", good, bad)
	}
}

// endOfPods checks that all pods carry what those of the stable version are to carry, and are young enough.
func (r *rules) endOfPods(s spec.Rollout) {
	stable := stableMetadata(s)
	labels, annotations := merged(s.Template.Labels, stable.Labels), merged(s.Template.Annotations, stable.Annotations)
	labels[v1alpha1.PodTemplateHashLabel] = r.world.Rollout().Status.CurrentPodHash
	at := r.world.Rollout().Spec.RestartAt
	for _, pod := range r.world.PodObjects() {
		if !maps.Equal(pod.Labels, labels) || !sameOrNone(pod.Annotations, annotations) {
			r.history.fail("end", "pod %s carries %v and %v, not %v and %v", pod.Name, pod.Labels, pod.Annotations, labels, annotations)
		}
		if at != nil && !at.Equal(r.superseded) && pod.CreationTimestamp.Before(at) && !at.After(r.world.Now()) {
			r.history.fail("end", "pod %s is older than spec.restartAt", pod.Name)
		}
	}
}

// dressed checks that a Rollout that becomes Healthy has no pods of its version left that lack what those of the stable version are to carry.
func (r *rules) dressed(p sim.Pass, s spec.Rollout) {
	from, to := p.Plan.Record.From.Status, p.Plan.Record.To.Status
	if from.Phase == v1alpha1.RolloutPhaseHealthy || to.Phase != v1alpha1.RolloutPhaseHealthy || !p.Whole() || p.Stale || s.Replicas == 0 {
		return // or a preview's pods are about to go
	}
	stable := stableMetadata(s)
	for _, pod := range r.world.PodObjects() {
		if pod.DeletionTimestamp != nil || pod.Labels[v1alpha1.PodTemplateHashLabel] != to.CurrentPodHash {
			continue
		}
		for key, value := range stable.Labels {
			if pod.Labels[key] != value {
				r.history.fail("healthy", "pod %s carries %v where the Rollout is Healthy, and not %s=%s", pod.Name, pod.Labels, key, value)
			}
		}
	}
}

func stableMetadata(s spec.Rollout) spec.Metadata {
	switch strategy := s.Strategy.(type) {
	case spec.Canary:
		return strategy.StableMetadata
	case spec.BlueGreen:
		return strategy.StableMetadata
	}
	return spec.Metadata{}
}

func merged(a, b map[string]string) map[string]string {
	m := map[string]string{}
	maps.Copy(m, a)
	maps.Copy(m, b)
	return m
}

func sameOrNone(a, b map[string]string) bool { return len(a)+len(b) == 0 || maps.Equal(a, b) }
