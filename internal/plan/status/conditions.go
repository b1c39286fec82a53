package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/hazard"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// setConditions brings every condition up to date, each by a rule of its own. The events that only conditions know of are told
// here too.
func (p *Status) setConditions() {
	p.setInvalidSpec()
	p.setPaused()
	p.setCompleted()
	p.setAvailable()
	p.setHealthy()
	p.setReplicaFailure()
	p.setPodMetadataFailure()
	p.setRouteReleaseFailure()
	p.setOverload()
	p.setProgressing()
	p.tellTrouble()
}

// setInvalidSpec says all that is wrong with the spec, or with the objects that it names.
func (p *Status) setInvalidSpec() {
	problems := p.due()
	if len(problems) == 0 {
		p.update.Remove(v1alpha1.ConditionInvalidSpec)
		return
	}
	texts := make([]string, len(problems))
	for i, problem := range problems {
		texts[i] = problem.String()
		p.journal.Note(change.TopicRefuse, problem.Field, problem.Text)
	}
	message := clean.Text(`The Rollout "` + p.world.Rollout.Name + `" is invalid: ` + strings.Join(texts, "; "))
	if p.update.Condition(v1alpha1.ConditionInvalidSpec).Message != message {
		p.journal.Warn(v1alpha1.ReasonInvalidSpec, "%s", message)
	}
	p.update.SetTrue(v1alpha1.ConditionInvalidSpec, v1alpha1.ReasonInvalidSpec, message)
}

// comesWith is how long after a Rollout what it names may be created: those who apply a manifest write one object after another, in any
// order.
const comesWith = 2 * time.Second

// due are the problems to report now: not the objects that may be created yet.
func (p *Status) due() []spec.Problem {
	var due []spec.Problem
	for _, problem := range p.update.Problems {
		if !p.mayCome(problem) {
			due = append(due, problem)
			continue
		}
		p.journal.Note(change.TopicWait, problem.Field, problem.Missing+" is not there yet")
		p.journal.WakeAt(p.applied())
	}
	return due
}

// mayCome reports whether what is missing may be created yet, as it is while the Rollout itself is new. An edit that names what does not
// exist is wrong at once: its author had the time to create that first.
func (p *Status) mayCome(problem spec.Problem) bool {
	return problem.Missing != "" && p.world.Now.Before(p.applied())
}

// applied is when all that was applied together with the Rollout is there. The API stores whole seconds: one second is left at least.
func (p *Status) applied() time.Time { return p.world.Rollout.CreationTimestamp.Add(comesWith) }

// setPaused adds the Paused condition at the first pause, and keeps it afterward.
func (p *Status) setPaused() {
	before, now := p.update.WasTrue(v1alpha1.ConditionPaused), p.isPaused()
	if !before && !now {
		return
	}
	p.update.Set(v1alpha1.ConditionPaused, truth(now), v1alpha1.ReasonRolloutPaused, "Rollout is paused")
	switch {
	case now && !before:
		p.journal.Event(v1alpha1.ReasonRolloutPaused, "Rollout is paused (%s)", p.pauseReason())
	case p.resumed():
		p.journal.Event(v1alpha1.ReasonRolloutResumed, "Rollout is resumed")
	}
}

// resumed reports whether what held the update as of the last pass holds it no more.
func (p *Status) resumed() bool {
	return p.update.WasTrue(v1alpha1.ConditionPaused) && !p.isPaused() && p.update.State() != progress.Aborted
}

func (p *Status) isPaused() bool { return p.world.Spec.Paused || len(p.update.Is.PauseConditions) > 0 }

func (p *Status) pauseReason() string {
	if len(p.update.Is.PauseConditions) > 0 {
		return string(p.update.Is.PauseConditions[0].Reason)
	}
	return "spec.paused"
}

// setCompleted tells whether the current version is the stable one.
func (p *Status) setCompleted() {
	before := p.update.WasTrue(v1alpha1.ConditionCompleted)
	p.update.Set(v1alpha1.ConditionCompleted, truth(p.update.State() == progress.Settled), v1alpha1.ReasonRolloutCompleted, v1alpha1.ReasonRolloutCompleted)
	if before && p.update.State() != progress.Settled {
		p.journal.Event(v1alpha1.EventRolloutNotCompleted, "Rollout not completed, started update to revision %s (%s)", p.update.Revision(), p.update.Is.CurrentPodHash)
	}
}

func (p *Status) setAvailable() {
	if p.update.Is.AvailableReplicas >= p.world.Spec.Replicas {
		p.update.SetTrue(v1alpha1.ConditionAvailable, v1alpha1.ReasonAvailable, "Rollout has minimum availability")
		return
	}
	p.update.Set(v1alpha1.ConditionAvailable, corev1.ConditionFalse, v1alpha1.ReasonAvailable, "Rollout does not have minimum availability")
}

func (p *Status) setHealthy() {
	if p.healthy() {
		p.update.SetTrue(v1alpha1.ConditionHealthy, v1alpha1.ReasonRolloutHealthy, "Rollout is healthy")
		return
	}
	p.update.Set(v1alpha1.ConditionHealthy, corev1.ConditionFalse, v1alpha1.ReasonRolloutHealthy, "Rollout is not healthy")
}

// healthy is the state in which everything is as the spec asks for it.
func (p *Status) healthy() bool { return p.finished() && p.labels.Labelled() }

// finished is the state in which no pod is left to come or go: all are of the current version and available.
func (p *Status) finished() bool {
	s, want := p.update.Is, p.world.Spec.Replicas+p.restart.Surging()
	if slices.ContainsFunc(p.update.Problems, p.mayCome) {
		return false // what is left may be to send traffic by it
	}
	if b, ok := p.world.Spec.Strategy.(spec.BlueGreen); ok { // old stacks that are kept for a while do not make it less healthy
		return p.update.State() == progress.Settled && s.UpdatedReplicas == want && s.AvailableReplicas == want &&
			s.BlueGreen.ActiveSelector == s.CurrentPodHash &&
			(b.PreviewService == "" || s.BlueGreen.PreviewSelector == s.CurrentPodHash)
	}
	return p.update.State() == progress.Settled && p.update.At() == p.world.StepCount() &&
		s.Replicas == want && s.UpdatedReplicas == want && s.AvailableReplicas == want
}

// setReplicaFailure repeats what the ReplicaSet controller says of pods that it cannot create, the new version's first.
func (p *Status) setReplicaFailure() {
	for _, v := range p.world.All() {
		for _, c := range v.Status.Conditions {
			if string(c.Type) == string(v1alpha1.ConditionReplicaFailure) && c.Status == corev1.ConditionTrue {
				p.update.SetTrue(v1alpha1.ConditionReplicaFailure, c.Reason, c.Message)
				return
			}
		}
	}
	p.update.Remove(v1alpha1.ConditionReplicaFailure)
}

// setOverload warns while the steps give the canary more traffic than pods for it, as setCanaryScale allows. Where no update goes on, no
// pod gets it.
func (p *Status) setOverload() {
	var texts []string
	for _, h := range hazard.Of(p.world.Rollout) {
		if h.Kind == hazard.CanaryOverload {
			texts = append(texts, h.String())
		}
	}
	if len(texts) == 0 {
		p.update.Remove(v1alpha1.ConditionCanaryOverload)
		return
	}
	idle := p.update.State() == progress.Settled || p.update.State() == progress.Aborted
	p.update.Set(v1alpha1.ConditionCanaryOverload, truth(!idle), v1alpha1.ReasonCanaryOverload, strings.Join(texts, "; "))
}

func truth(b bool) corev1.ConditionStatus {
	if b {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// setRouteReleaseFailure reports which objects of traffic routers hold something of this Rollout that cannot be taken out.
func (p *Status) setRouteReleaseFailure() {
	if len(p.draft.Unreleased) == 0 {
		p.update.Remove(v1alpha1.ConditionRouteReleaseFailure)
		return
	}
	p.update.SetTrue(v1alpha1.ConditionRouteReleaseFailure, v1alpha1.ReasonRouteUpdateRefused, clean.Text("what this Rollout put there cannot be taken out of "+
		strings.Join(p.draft.Unreleased, "; ")+": correct the route, or delete it"))
}

// setPodMetadataFailure reports how many pods the API server refuses to label, and why.
func (p *Status) setPodMetadataFailure() {
	switch {
	case len(p.labels.Refusals) > 0:
		why := slices.Compact(slices.Sorted(slices.Values(p.labels.Refusals)))
		p.update.SetTrue(v1alpha1.ConditionPodMetadataFailure, v1alpha1.ReasonPodUpdateRefused,
			fmt.Sprintf("%s cannot be labelled: %s", capacity.Pods(int32(len(p.labels.Refusals))), strings.Join(why, "; ")))
	case p.update.Begun || p.labels.MetadataChanged || len(p.labels.Unlabelled()) == 0:
		p.update.Remove(v1alpha1.ConditionPodMetadataFailure)
	}
}
