package explore

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// stepPlugins are the plugins of a history's steps: what they were asked, and what they answered, whether that arrived or not.
type stepPlugins struct {
	said map[change.StepKey][]sim.StepReply
	// replies is how many there were: each has a state of its own.
	replies int
}

// withPlugins has plugins carry out some of the steps of a canary.
func (h *history) withPlugins(steps []v1alpha1.CanaryStep) []v1alpha1.CanaryStep {
	if !h.Plugins {
		return steps
	}
	for range 1 + h.IntN(3) {
		step := v1alpha1.CanaryStep{Plugin: &v1alpha1.PluginStep{Name: fmt.Sprintf("acme/p%d", h.IntN(2)), Config: json.RawMessage(`{"a":1}`)}}
		steps = slices.Insert(steps, h.IntN(len(steps)+1), step)
	}
	return steps
}

// pluginChoice is what a plugin answers: a phase or one of the words below, when it wants to be asked again, and how long the call takes.
type pluginChoice struct {
	word         string
	again, takes time.Duration
}

// The words for answers without a phase.
const (
	wordError, wordHangs, wordDisabled, wordNothing, wordNonsense = "error", "hangs", "disabled", "nothing", "nonsense"
)

// askPlugin has a plugin answer, and notes what it was asked.
func (h *history) askPlugin(call change.StepCall) sim.StepReply {
	choice := draw(h.fate, "plugin", pluginChoice{word: string(v1alpha1.StepPluginSuccessful)},
		func(c pluginChoice) string { return fmt.Sprintf("%s %s %s", c.word, c.again, c.takes) }, decodeChoice, h.anyChoice)
	h.plugins.replies++
	reply := sim.StepReply{Takes: choice.takes}
	reply.RequeueAfter, reply.Status = choice.again, json.RawMessage(fmt.Sprintf(`{"reply":%d}`, h.plugins.replies))
	switch choice.word {
	case wordError:
		reply.Error = "connection refused"
	case wordHangs:
		reply.Error, reply.Takes = "no answer within 1m0s", time.Minute
	case wordDisabled:
		reply.Disabled = true
	case wordNothing:
	case wordNonsense:
		reply.Phase = "Finished"
	default:
		reply.Phase = choice.word
	}
	h.rules.told = map[string]bool{} // what comes of it comes from outside
	h.rules.asks(call)
	h.plugins.said[call.StepKey] = append(h.plugins.said[call.StepKey], reply)
	return reply
}

func decodeChoice(text string) (c pluginChoice, err error) {
	var again, takes string
	if _, err = fmt.Sscan(text, &c.word, &again, &takes); err != nil {
		return c, err
	}
	if c.again, err = time.ParseDuration(again); err != nil {
		return c, err
	}
	c.takes, err = time.ParseDuration(takes)
	return c, err
}

// anyChoice is what a plugin does: every second one is done at once.
func (h *history) anyChoice() pluginChoice {
	c := pluginChoice{word: string(v1alpha1.StepPluginSuccessful)}
	if h.calm {
		return c
	}
	words := []string{"Running", "Running", "Running", "Failed", "Error", wordError, wordHangs, wordDisabled, wordNothing, wordNonsense}
	if n := h.chaos.IntN(2 * len(words)); n < len(words) {
		c.word = words[n]
	}
	c.again = []time.Duration{0, 5 * time.Second, 20 * time.Second, time.Minute}[h.chaos.IntN(4)]
	c.takes = []time.Duration{0, 10 * time.Millisecond, 3 * time.Second, 40 * time.Second}[h.chaos.IntN(4)]
	return c
}

// asks checks what a plugin is asked: with the state that it gave last, as far as that was recorded, and in an update that is there.
func (r *rules) asks(call change.StepCall) {
	for key, replies := range r.history.plugins.said {
		same := key
		same.Executions = call.Executions
		same.Operation = call.Operation
		if same != call.StepKey || key.Operation != v1alpha1.StepPluginRun || key.Executions >= call.Executions {
			continue
		}
		if slices.ContainsFunc(replies, func(s sim.StepReply) bool { return string(s.Status) == string(call.Status) }) {
			return
		}
	}
	if len(call.Status) > 0 {
		r.history.fail("plugin", "%s is given the state %s, which it never gave: call %d of step %d", call.Name, call.Status, call.Executions+1, call.Index+1)
	}
	if call.Operation != v1alpha1.StepPluginRun && len(call.Status) == 0 && r.gaveState(call) {
		r.history.fail("plugin", "%s is to %s step %d without the state that it gave", call.Name, call.Operation, call.Index+1)
	}
}

// gaveState reports whether the status of the world has a state for what is being asked.
func (r *rules) gaveState(call change.StepCall) bool {
	e := stepEntry(r.world.Rollout().Status, call.Index, v1alpha1.StepPluginRun)
	return e != nil && e.Executions == call.Executions && len(e.Status) > 0
}

func stepEntry(s v1alpha1.RolloutStatus, index int32, operation v1alpha1.StepPluginOperation) *v1alpha1.StepPluginStatus {
	all := s.Canary.StepPluginStatuses
	i := slices.IndexFunc(all, func(e v1alpha1.StepPluginStatus) bool { return e.Index == index && e.Operation == operation })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// answered checks that what is recorded of plugins is what they answered, and that no step of theirs ends without that.
func (r *rules) answered(p sim.Pass, s spec.Rollout) {
	from, to := p.Plan.Record.From.Status, p.Plan.Record.To.Status
	for _, e := range to.Canary.StepPluginStatuses {
		was := stepEntry(from, e.Index, e.Operation)
		if was != nil && was.Executions == e.Executions && was.Phase == e.Phase && was.Disabled == e.Disabled || e.Executions == 0 && e.Phase == v1alpha1.StepPluginRunning {
			continue
		}
		if !r.wasSaid(from, to, e) {
			r.history.fail("plugin", "step %d (%s) is recorded as %s %s after %d calls, which the plugin did not say", e.Index+1, e.Name, e.Operation, e.Phase, e.Executions)
		}
	}
	c, ok := s.Strategy.(spec.Canary)
	left := stepLeft(c, from, to)
	if !ok || left < 0 || !sameAttempt(from, to) {
		return
	}
	for i := left; i < int(*to.CurrentStepIndex) && i < len(c.Steps); i++ {
		if _, isPlugin := c.Steps[i].(spec.RunPlugin); !isPlugin {
			continue
		}
		if e := stepEntry(to, int32(i), v1alpha1.StepPluginRun); e == nil || e.Phase != v1alpha1.StepPluginSuccessful && !e.Disabled {
			r.history.fail("plugin", "step %d ends although its plugin has not said that it is done: %+v", i+1, e)
		}
	}
}

// wasSaid reports whether a plugin has answered what an entry says.
func (r *rules) wasSaid(from, to v1alpha1.RolloutStatus, e v1alpha1.StepPluginStatus) bool {
	before := int32(0)
	if was := stepEntry(from, e.Index, v1alpha1.StepPluginRun); was != nil {
		before = was.Executions
	}
	for key, replies := range r.history.plugins.said {
		if key.PodHash != to.CurrentPodHash || key.StepHash != to.CurrentStepHash || key.Index != e.Index || key.Operation != e.Operation || key.Executions != before {
			continue
		}
		for _, reply := range replies {
			if e.Disabled && reply.Disabled || e.Phase == phaseOf(reply, e) {
				return true
			}
		}
	}
	return false
}

// phaseOf is the phase that follows from an answer.
func phaseOf(reply sim.StepReply, e v1alpha1.StepPluginStatus) v1alpha1.StepPluginPhase {
	runs := e.Operation == v1alpha1.StepPluginRun
	switch phase := v1alpha1.StepPluginPhase(reply.Phase); {
	case reply.Error != "" || phase == "Finished":
		return v1alpha1.StepPluginError
	case phase == "" && runs:
		return e.Phase // it stays what it was, and may have been Running or Error
	case phase == "":
		return v1alpha1.StepPluginSuccessful
	case phase == v1alpha1.StepPluginRunning && !runs:
		return v1alpha1.StepPluginFailed
	default:
		return phase
	}
}

// woundUp checks at rest that all plugins were asked to undo their steps after an abort, and that the last one was stopped after a promotion.
func (r *rules) woundUp() {
	s, now := r.world.Rollout().Status, r.now()
	if !now.ok || !r.history.Plugins {
		return
	}
	entries := s.Canary.StepPluginStatuses
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		ran := e.Operation == v1alpha1.StepPluginRun && (e.Phase == v1alpha1.StepPluginRunning || s.Abort && e.Phase == v1alpha1.StepPluginSuccessful)
		if !ran {
			continue
		}
		if s.Abort && stepEntry(s, e.Index, v1alpha1.StepPluginAbort) == nil {
			r.history.fail("plugin", "at rest the plugin of step %d was not asked to undo it", e.Index+1)
		}
		if !s.Abort && stepEntry(s, e.Index, v1alpha1.StepPluginTerminate) == nil {
			r.history.fail("plugin", "at rest the plugin of step %d was not asked to stop", e.Index+1)
		}
		if !s.Abort {
			return
		}
	}
}
