// Package bluegreen is what a blue-green rollout wants: a full stack of the new version next to the one that serves, and the active Service on the
// new one once it has passed all gates.
//
// Up to three versions take part: the new one, the stable one that a rollback returns to, and a third that the active Service selects between
// the switch and the promotion, or when one update supersedes another.
package bluegreen

import (
	"fmt"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/judge"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/restart"
	"github.com/sluice-delivery/sluice/internal/plan/target"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// BlueGreen is a blue-green rollout.
type BlueGreen struct {
	world   *world.World
	update  *progress.Progress
	restart *restart.Restart
	judge   *judge.Judge
	spec    spec.BlueGreen
}

// New has not looked at anything.
func New(w *world.World, u *progress.Progress, r *restart.Restart, j *judge.Judge, b spec.BlueGreen) *BlueGreen {
	return &BlueGreen{world: w, update: u, restart: r, judge: j, spec: b}
}

// Target is the pods of each version that serves, or is about to.
func (p *BlueGreen) Target() target.Target {
	var t target.Target
	full := p.world.Spec.Replicas
	switch {
	case p.world.New == nil: // without pods, so that the preview Service selects them from the first one on
		t.Sizes = append(t.Sizes, target.Size{Why: "a new version"})
	case p.update.Begun, p.update.State() == progress.Aborted && !p.update.Deserted(): // no pods until the status knows of the update: a later one would assume that they had served
	default:
		size, why := p.PreviewSize()
		t.Sizes = append(t.Sizes, target.Size{Version: p.world.New, Pods: size, Why: why})
		if p.update.Deserted() {
			t.Used = append(t.Used, p.world.New)
		}
	}
	if stable := p.world.StableBeside(); stable != nil {
		if !p.judge.Verifying(p.spec) {
			t.Used = append(t.Used, stable)
		}
		t.Sizes = append(t.Sizes, target.Size{Version: stable, Pods: full, Why: "the stable version keeps all its pods"})
	}
	if third := p.update.Third(); third != nil && (p.update.State() != progress.Settled || p.world.ObservedSelects(p.spec.ActiveService) == third.Hash) {
		t.Used = append(t.Used, third)
		t.Sizes = append(t.Sizes, target.Size{Version: third, Pods: full, Why: "the active service sends to it"})
	}
	return t
}

// PreviewSize is how many pods the new version should have, and why: the preview's until nothing but its size keeps it from serving.
func (p *BlueGreen) PreviewSize() (int32, string) {
	if s := p.update.State(); !p.spec.PreviewLimited || s == progress.Settled || s == progress.PromotedInFull || p.update.Is.BlueGreen.ScaleUpPreviewCheckPoint ||
		p.update.Deserted() || p.update.Was.BlueGreen.ActiveSelector == p.update.Is.CurrentPodHash {
		return p.world.Spec.Replicas, "a full stack of the new version"
	}
	return p.spec.PreviewReplicas, "previewReplicaCount"
}

// HasSurplus reports whether the new version has more pods than its preview is to have: it has served, before an abort or another update,
// and comes back.
func (p *BlueGreen) HasSurplus() bool {
	size, _ := p.PreviewSize()
	return p.update.State() != progress.Aborted && size < p.world.Spec.Replicas && p.world.New.Desired() > size+p.restart.Surging()
}

// Enough is how many available pods a version needs to take everything over.
func (p *BlueGreen) Enough() int32 {
	return capacity.LeastOf(p.world.Spec.Replicas, p.spec.MaxUnavailable)
}

// ServesStill is the version that the active Service should select while the new one may not take over, and why.
func (p *BlueGreen) ServesStill() target.Selection {
	v, why := p.servesStill()
	return target.Selection{Service: p.spec.ActiveService, Version: v, Why: why}
}

func (p *BlueGreen) servesStill() (v *world.Version, why string) {
	third := p.update.Third()
	switch {
	case p.update.State() == progress.Aborted && p.world.Stable != nil:
		return p.world.Stable, "the update was aborted"
	case third != nil && p.missing(third) && p.world.Stable == nil && p.world.Remaining().ConfirmedAvailable() > 0: // others have pods
		return p.world.Remaining(), p.update.WhyGone()
	case third != nil && (third.Counts().Serving() > 0 || p.world.Stable.Counts().Serving() == 0):
		return third, "it has served until now"
	case p.world.Stable != nil:
		return p.world.Stable, "it has served until now"
	}
	return p.world.Remaining(), p.update.WhyGone()
}

// missing reports whether a version that the active Service was left with is to have no pods, or has none and the Service has been edited since.
func (p *BlueGreen) missing(third *world.Version) bool {
	return third.Desired() == 0 || third.Counts().Serving() == 0 && p.world.ObservedSelects(p.spec.ActiveService) != third.Hash
}

// Serves is the version that the active Service should select once the gates are passed, or where there is no update.
func (p *BlueGreen) Serves() target.Selection {
	why := "the new version is ready"
	if p.update.State() == progress.Settled {
		why = "it is the stable version"
	}
	return target.Selection{Service: p.spec.ActiveService, Version: p.world.New, Why: why}
}

// Idle are the versions of no use while another one serves.
func (p *BlueGreen) Idle(serving *world.Version) []target.Idle {
	var idle []target.Idle
	if p.update.State() == progress.Aborted && p.spec.AbortScaleDown && p.world.New != nil && p.world.New != serving {
		idle = append(idle, target.Idle{
			Version: p.world.New, Delay: p.spec.AbortScaleDownDelay, Aborted: true, Whole: p.world.New.Desired(), Why: "the update was aborted",
			Services: p.world.WithUnnamed(p.spec.ActiveService),
		})
	}
	if !p.update.PausedSince(v1alpha1.PauseReasonInconclusiveAnalysis).IsZero() {
		return idle // nobody knows yet which version is good
	}
	return append(idle, target.Replaced(p.world.Others, serving, p.spec.ScaleDownDelayRevisionLimit, target.Idle{
		Delay: p.spec.ScaleDownDelay, Whole: p.world.Spec.Replicas, Why: "an old version",
		Services: p.world.WithUnnamed(p.spec.ActiveService, p.spec.PreviewService),
	})...)
}

// Gates reports whether everything that was to come before the switch has come, or else what is missing. Once it has, the
// status says so in scaleUpPreviewCheckPoint, and pods that fail after that only delay the switch. A pass that switched and could not
// record it finds the gates passed again, by what let them be passed.
func (p *BlueGreen) Gates() (passed bool, missing string) {
	checkPoint := &p.update.Is.BlueGreen.ScaleUpPreviewCheckPoint
	if p.update.State() == progress.PromotedInFull || *checkPoint || p.hasSwitched() {
		*checkPoint = true
		return true, ""
	}
	// A pause that has begun goes on, and is ended by a person, whatever becomes of the pods meanwhile.
	held := p.update.Is.ControllerPause || !p.update.PausedSince(v1alpha1.PauseReasonBlueGreenPause).IsZero() ||
		p.update.Is.BlueGreen.PrePromotionAnalysisRunStatus != nil
	if ready, missing := p.previewReady(); !ready && !held {
		return false, missing
	}
	if passed, missing := p.judge.PassedBeforeSwitch(p.spec); !passed {
		return false, missing
	}
	switch {
	case p.spec.Gate != nil:
		if done, missing := p.update.Hold(v1alpha1.PauseReasonBlueGreenPause, *p.spec.Gate); !done {
			return false, missing
		}
	case !p.update.PausedSince(v1alpha1.PauseReasonBlueGreenPause).IsZero(): // the spec asks for it no more
		p.update.EndPause(v1alpha1.PauseReasonBlueGreenPause)
	}
	*checkPoint = true
	return true, ""
}

// hasSwitched reports whether the status records a switch to the new version that did not pass the gates, as other controllers of this API
// may record it. If the stable version is gone, the new one serves without having passed them.
func (p *BlueGreen) hasSwitched() bool {
	return p.world.Stable != nil && p.update.Was.BlueGreen.ActiveSelector == p.update.Is.CurrentPodHash
}

// previewReady reports whether the new version has all the pods that its preview is to have, or else how many.
func (p *BlueGreen) previewReady() (bool, string) {
	size, _ := p.PreviewSize()
	size = p.restart.WithSurge(p.world.New, size)
	have := p.world.New.Counts()
	if needed := capacity.LeastOf(size, p.spec.MaxUnavailable); p.world.New == nil || p.world.New.Unobserved() || have.Desired < size || have.Serving() < needed {
		return false, fmt.Sprintf("%d of %d pods of the new version available", have.Serving(), needed)
	}
	return true, ""
}

// Completed is how the update came to its end, for the event.
func (p *BlueGreen) Completed() string {
	switch {
	case p.update.State() == progress.PromotedInFull:
		return "Full promotion requested"
	case p.update.FastRollback() && p.world.WithinWindow():
		return "Rollback within window"
	case p.update.FastRollback():
		return "Fast rollback"
	}
	return "Completed blue-green update"
}
