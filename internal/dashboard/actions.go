package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/view"
)

// action is something that a person can do with a Rollout.
type action struct {
	Name, Label string
	// Key is what to press.
	Key string
	// Does is what will happen, for who is asked whether to do it.
	Does string
	// Past is what has happened, as in "promoted by jane".
	Past string
	// Main is the one that is likely meant now, Grave one that people should think about.
	Main, Grave bool
	// Denied is why it is not to be had, empty if it is.
	Denied string
	// Slot is the place of its button, its name unless it shares one with its opposite.
	Slot string
	// idle is why it is not to be had where it has no meaning. Without it, its place is left to its opposite.
	idle string

	// about is what a decision for it is about: if that is another by the time it is confirmed, the person is asked again. What else changes,
	// as a consequence of what one did before, changes nothing about the decision.
	about func(*v1alpha1.Rollout) string
	// imagine is the action as it would be, so that the engine can play ahead what follows.
	imagine imagining
	// offered is when it has a meaning.
	offered func(*v1alpha1.Rollout, view.Objects) bool
	// status: it writes the status first, for which there is a right of its own.
	status bool
	do     func(context.Context, live.Client, string, url.Values, time.Time) (string, error)
}

var actions = []action{
	{
		Name: "promote", Past: "promoted", about: aboutStep, imagine: patched(act.Promotion{}.Patch), Label: "Promote", Key: "p", status: true, offered: func(ro *v1alpha1.Rollout, _ view.Objects) bool {
			p, err := act.Promotion{}.Patch(ro)
			return err == nil && (p.Status != nil || p.Spec != nil) && !ro.Status.Abort
		},
		idle: "There is nothing to promote.",
		Does: "Continues the update: ends the current pause, or skips the step in progress.",
		do:   promoting(act.Promotion{}),
	},
	{
		Name: "promote-full", Past: "promoted in full", about: aboutUpdate, imagine: patched(act.Promotion{Full: true}.Patch), Label: "Promote in full", Key: "F", status: true, Grave: true, offered: updating,
		idle: noUpdate,
		Does: "Skips all remaining steps, pauses, and analyses. The new version takes over immediately.",
		do:   promoting(act.Promotion{Full: true}),
	},
	{
		Name: "skip-step", Past: "step skipped", about: aboutStep, imagine: patched(act.Promotion{SkipStep: true}.Patch), Label: "Skip step", Key: "s", status: true, Grave: true, offered: func(ro *v1alpha1.Rollout, o view.Objects) bool {
			canary := ro.Spec.Strategy.Canary
			i := ro.Status.CurrentStepIndex
			return updating(ro, o) && canary != nil && (i == nil || int(*i) < len(canary.Steps))
		},
		idle: "No step is in progress.",
		Does: "Counts the current step as done, whatever it waits for, analyses included.",
		do:   promoting(act.Promotion{SkipStep: true}),
	},
	{
		Name: "pause", Past: "paused", about: aboutPause, imagine: patched(writing(act.Patch{Spec: act.Fields{"paused": true}})), Label: "Pause", Key: "h", offered: func(ro *v1alpha1.Rollout, _ view.Objects) bool { return !ro.Spec.Paused },
		Does: "No pods are added or removed, and no step starts, until someone resumes the rollout.",
		do:   patching(act.Patch{Spec: act.Fields{"paused": true}}, "paused"),
	},
	{
		Name: "resume", Past: "resumed", about: aboutPause, imagine: patched(writing(act.Patch{Spec: act.Fields{"paused": false}})), Label: "Resume", Slot: "pause", Key: "h", offered: func(ro *v1alpha1.Rollout, _ view.Objects) bool { return ro.Spec.Paused },
		Does: "Removes spec.paused. The update continues where it is.",
		do:   patching(act.Patch{Spec: act.Fields{"paused": false}}, "resumed"),
	},
	{
		Name: "abort", Past: "aborted", about: aboutUpdate, imagine: patched(answered(act.Abort)), Label: "Abort", Key: "a", status: true, Grave: true,
		offered: func(ro *v1alpha1.Rollout, _ view.Objects) bool { p, _ := act.Abort(ro); return p.Status != nil },
		idle:    noUpdate,
		Does:    "All traffic returns to the stable version. The rollout is Degraded until the spec changes or the update is retried.",
		do:      steering(act.Abort),
	},
	{
		Name: "retry", Past: "retried", about: aboutUpdate, imagine: patched(answered(act.Retry)), Label: "Retry", Slot: "abort", Key: "r", status: true,
		offered: func(ro *v1alpha1.Rollout, _ view.Objects) bool { return ro.Status.Abort },
		Does:    "Tries the aborted update again from its first step.",
		do:      steering(act.Retry),
	},
	{
		Name: "restart", Past: "pods restarted", about: aboutRollout, imagine: imagineRestart, Label: "Restart pods", Key: "R",
		Does: "Replaces all current pods with new pods of the same version, at most maxUnavailable at a time. This does not start an update.",
		do: func(ctx context.Context, c live.Client, name string, _ url.Values, now time.Time) (string, error) {
			return fmt.Sprintf("rollout '%s' restarts", name), restarting(now).Send(ctx, c, live.Rollouts, name)
		},
	},
	{
		Name: "undo", Past: "undone", about: aboutTemplate, imagine: imagineUndo, Label: "Undo", Key: "z", offered: func(_ *v1alpha1.Rollout, o view.Objects) bool { return len(o.ReplicaSets) > 1 },
		idle: "There is no earlier revision.",
		Does: "Copies the pod template of an earlier revision into the rollout, which starts an update to it.",
		do: func(ctx context.Context, c live.Client, name string, form url.Values, _ time.Time) (string, error) {
			revision, err := revisionIn(form)
			if err != nil {
				return "", err
			}
			way, err := act.UndoTo(ctx, c, name, revision)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("rollout '%s' undone to revision %d", name, way.Revision), way.Do(ctx, c)
		},
	},
	{
		Name: "image", Past: "image set", about: aboutTemplate, imagine: imagineImages, Label: "Set image", Key: "i",
		Does: "Writes images into the pod template, which starts an update.",
		do: func(ctx context.Context, c live.Client, name string, form url.Values, _ time.Time) (string, error) {
			changed, err := act.SetImages(ctx, c, name, imagesIn(form))
			if err == nil && !changed {
				return fmt.Sprintf("rollout '%s' has these images already", name), nil
			}
			return fmt.Sprintf("rollout '%s' has new images", name), err
		},
	},
}

const noUpdate = "No update is in progress."

// updating: there is a version that is not the stable one.
func updating(ro *v1alpha1.Rollout, _ view.Objects) bool {
	return ro.Status.CurrentPodHash != ro.Status.StableRS && ro.Status.StableRS != "" && !ro.Status.Abort
}

func promoting(how act.Promotion) func(context.Context, live.Client, string, url.Values, time.Time) (string, error) {
	return func(ctx context.Context, c live.Client, name string, _ url.Values, _ time.Time) (string, error) {
		result, _, err := how.Do(ctx, c, name)
		return result, err
	}
}

func patching(p act.Patch, done string) func(context.Context, live.Client, string, url.Values, time.Time) (string, error) {
	return func(ctx context.Context, c live.Client, name string, _ url.Values, _ time.Time) (string, error) {
		return fmt.Sprintf("rollout '%s' %s", name, done), p.Send(ctx, c, live.Rollouts, name)
	}
}

func steering(how func(*v1alpha1.Rollout) (act.Patch, string)) func(context.Context, live.Client, string, url.Values, time.Time) (string, error) {
	return func(ctx context.Context, c live.Client, name string, _ url.Values, _ time.Time) (string, error) {
		result, _, err := act.Steer(how)(ctx, c, name)
		return result, err
	}
}

func revisionIn(form url.Values) (int64, error) {
	text := form.Get("revision")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("revision %q is not a number", text)
	}
	return n, nil
}

// actionsOf are the buttons of a page. Each has a place that stays, so that nobody hits another one because something has happened meanwhile:
// what has no meaning now is there, too, and says why.
func (s *Server) actionsOf(ctx context.Context, p *person, o view.Objects) []action {
	if s.ReadOnly {
		return nil
	}
	rights := s.may(ctx, p, o.Rollout.Namespace)
	waits := o.Rollout.Status.Phase == v1alpha1.RolloutPhasePaused
	taken := map[string]bool{}
	var offered []action
	for _, a := range slices.Backward(actions) { // of two that share a place the later one is there only when it has a meaning
		a.Slot = cmp.Or(a.Slot, a.Name)
		means := a.offered == nil || a.offered(o.Rollout, o)
		if taken[a.Slot] || !means && a.idle == "" {
			continue
		}
		taken[a.Slot] = true
		a.Denied = rights.spec
		if a.status {
			a.Denied = rights.status
		}
		if !means {
			a.Denied = cmp.Or(a.Denied, a.idle)
		}
		a.Main = a.Name == "promote" && waits || a.Name == "retry" || a.Name == "resume"
		offered = append(offered, a)
	}
	slices.Reverse(offered)
	return offered
}
