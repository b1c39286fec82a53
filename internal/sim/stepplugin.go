package sim

import (
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/internal/change"
)

// StepReply is what a scripted step plugin answers, and how long that takes.
type StepReply struct {
	change.StepAnswer
	Takes time.Duration
}

// stepPlugins are the step plugins as the controller asks them: one call at a time, and none is waited for. A crash forgets it all.
type stepPlugins struct {
	// flying is the call under way, if lands is not zero.
	flying change.StepAnswer
	lands  time.Time
	landed []change.StepAnswer
}

// land has the call under way come to its end, if it is time.
func (p *stepPlugins) land(now time.Time) {
	if !p.lands.IsZero() && !p.lands.After(now) {
		p.landed = append(slices.Clip(p.landed), p.flying)
		*p = stepPlugins{landed: p.landed}
	}
}

// carriedOut forgets the answers that the status has, and makes the calls of a plan that were not made before.
func (p *stepPlugins) carriedOut(heard int, calls []change.StepCall, now time.Time, ask func(change.StepCall) StepReply) (asked []change.StepCall) {
	p.landed = p.landed[heard:]
	for _, call := range calls {
		known := slices.ContainsFunc(p.landed, func(a change.StepAnswer) bool { return a.StepKey == call.StepKey })
		if known || !p.lands.IsZero() {
			continue
		}
		reply := StepReply{StepAnswer: change.StepAnswer{Error: "plugin " + call.Name + " not configured in configmap argo-rollouts-config"}}
		if ask != nil {
			reply = ask(call)
		}
		reply.StepKey, reply.Asked = call.StepKey, now
		p.flying, p.lands = reply.StepAnswer, now.Add(reply.Takes)
		asked = append(asked, call)
	}
	return asked
}
