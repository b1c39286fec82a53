package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// disturbance is something that people or fate do.
type disturbance struct {
	often int // how often it happens, compared with the others
	name  string
	do    func(h *history)
}

var disturbances = []disturbance{
	{10, "new image", func(h *history) { h.world.SetImage(h.image()) }},
	{4, "abort", func(h *history) { h.world.Abort() }},
	{4, "retry", func(h *history) { h.world.Retry() }},
	{8, "promote", func(h *history) { h.world.Promote() }},
	{3, "promote full", func(h *history) { h.world.PromoteFull() }},
	{6, "scale", func(h *history) { h.world.Scale(int32(h.IntN(9))) }},
	{2, "other steps", func(h *history) {
		h.world.Edit(func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.Canary.Steps = h.steps() })
	}},
	{1, "other limits", func(h *history) {
		h.world.Edit(func(ro *v1alpha1.Rollout) { h.limits(ro.Spec.Strategy.Canary) })
	}},
	{1, "other everything", func(h *history) { h.world.Edit(h.configure) }},
	{2, "pause", func(h *history) { h.world.Pause(true) }},
	{3, "resume", func(h *history) { h.world.Pause(false) }},
	{3, "kill pods", func(h *history) { h.world.Kill(h.image(), 1+h.IntN(3)) }},
	{3, "flapping pods", func(h *history) {
		h.world.Unready(h.image(), 1+h.IntN(4), time.Duration(1+h.IntN(20))*time.Second)
	}},
	{2, "sick pods", func(h *history) { h.world.Unready(h.image(), 1+h.IntN(4), 0) }},
	{4, "break an image", func(h *history) { h.world.SetFate(h.image(), sim.Fate{Broken: true}) }},
	{4, "mend an image", func(h *history) { h.world.SetFate(h.image(), sim.Fate{Start: h.world.PodStart}) }},
	{1, "delete a ReplicaSet", func(h *history) { h.world.DeleteReplicaSet(h.image()) }},
	{1, "refuse ReplicaSets", func(h *history) { h.world.Refuse("no more of these") }},
	{2, "allow ReplicaSets", func(h *history) { h.world.Refuse("") }},
	{1, "take a name", func(h *history) { h.world.Take(h.world.NameFor(h.image())) }},
	{1, "quota", func(h *history) { h.world.SetQuota(h.IntN(12)) }},
	{1, "no quota", func(h *history) { h.world.SetQuota(-1) }},
	{1, "wrong spec", func(h *history) {
		h.world.Edit(func(ro *v1alpha1.Rollout) { *ro.Spec.ProgressDeadlineSeconds = 0 })
	}},
	{2, "right spec", func(h *history) { h.world.Edit(correct) }},
	{2, "the clock jumps", func(h *history) { h.world.Jump(time.Duration(h.IntN(300)) * time.Second) }},
}

// image is one of a few, so that one often comes back to an old one.
func (h *history) image() string { return fmt.Sprintf("v%d", 1+h.IntN(4)) }

func (h *history) disturb() {
	total := 0
	for _, d := range disturbances {
		total += d.often
	}
	n := h.IntN(total)
	for _, d := range disturbances {
		if n -= d.often; n < 0 {
			h.user(func() { d.do(h) })
			h.log("%s %s: %s", h.world.Elapsed(), strings.ToUpper(d.name), describe(h.world.Rollout()))
			return
		}
	}
}

// user does something from outside and tells the rules.
func (h *history) user(do func()) {
	h.rules.before()
	do()
	h.rules.after()
}

// mend undoes all that is broken.
func (h *history) mend() {
	h.user(func() {
		w := h.world
		w.Refuse("")
		w.SetQuota(-1)
		for i := 1; i <= 4; i++ {
			w.SetFate(fmt.Sprintf("v%d", i), sim.Fate{Start: w.PodStart})
		}
		w.Edit(func(ro *v1alpha1.Rollout) {
			ro.Spec.Paused = false
			correct(ro)
		})
	})
}

// correct makes a wrong spec right.
func correct(ro *v1alpha1.Rollout) {
	if *ro.Spec.ProgressDeadlineSeconds == 0 {
		*ro.Spec.ProgressDeadlineSeconds = 60
	}
}

func describe(ro *v1alpha1.Rollout) string {
	c := ro.Spec.Strategy.Canary
	var steps []string
	for _, s := range c.Steps {
		switch {
		case s.SetWeight != nil:
			steps = append(steps, fmt.Sprint("weight ", *s.SetWeight))
		case s.Pause.Duration != nil:
			steps = append(steps, "pause "+s.Pause.Duration.String())
		default:
			steps = append(steps, "pause")
		}
	}
	return fmt.Sprintf("%s replicas=%d maxSurge=%s maxUnavailable=%s minReady=%d deadline=%d abort=%t paused=%t steps=%q",
		ro.Spec.Template.Spec.Containers[0].Image, *ro.Spec.Replicas, c.MaxSurge, c.MaxUnavailable, ro.Spec.MinReadySeconds,
		*ro.Spec.ProgressDeadlineSeconds, ro.Spec.ProgressDeadlineAbort, ro.Spec.Paused, strings.Join(steps, "; "))
}

func summary(w *sim.World) string {
	s := w.Rollout().Status
	step := int32(-1)
	if s.CurrentStepIndex != nil {
		step = *s.CurrentStepIndex
	}
	return fmt.Sprintf("%s %q step %d, stable %s, current %s, pods: %s", s.Phase, s.Message, step, s.StableRS, s.CurrentPodHash, w.Pods())
}
