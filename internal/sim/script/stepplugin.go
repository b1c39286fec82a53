package script

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// hangs is when the controller gives up to wait for an answer.
const hangs = time.Minute

// plugin is the verb "plugin gate Running waiting for approval again=20s state={} takes=5s": what a step plugin answers from now on. Instead of a
// phase there may be "error", "hangs", "disabled", "no-phase", and "undo" before all that for what it answers when it is to stop or to undo.
func (s *Script) plugin(args []string) (string, error) {
	if len(args) < 2 {
		return "", errors.New("which plugin, and what does it answer?")
	}
	name, rest := args[0], args[1:]
	if rest[0] == "undo" && len(rest) > 1 {
		name, rest = "undo "+name, rest[1:]
	}
	var reply sim.StepReply
	var words []string
	for _, word := range rest[1:] {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "again":
			reply.RequeueAfter, err = time.ParseDuration(value)
		case "takes":
			reply.Takes, err = time.ParseDuration(value)
		case "state":
			reply.Status = quoted(value)
		default:
			words = append(words, word)
		}
		if err != nil {
			return "", err
		}
	}
	reply.Message = strings.Join(words, " ")
	switch rest[0] {
	case "error":
		reply.Error = reply.Message
	case "hangs":
		reply.Error, reply.Takes = name+" did not answer within "+hangs.String(), hangs
	case "disabled":
		reply.Disabled = true
	case "no-phase":
	default:
		reply.Phase = rest[0]
	}
	s.plugins[name] = reply
	return "", nil
}

// answer is what a plugin was last said to answer.
func (s *Script) answer(call change.StepCall) sim.StepReply {
	if reply, ok := s.plugins["undo "+call.Name]; ok && call.Operation != v1alpha1.StepPluginRun {
		return reply
	}
	if reply, ok := s.plugins[call.Name]; ok {
		return reply
	}
	return sim.StepReply{StepAnswer: change.StepAnswer{Error: "plugin " + call.Name + " not configured in configmap argo-rollouts-config"}}
}

// quoted is JSON whose quotes are single ones in scripts.
func quoted(text string) json.RawMessage { return json.RawMessage(strings.ReplaceAll(text, "'", `"`)) }

// pluginStep reads "gate with {'a': 1}".
func pluginStep(arg string) *v1alpha1.PluginStep {
	name, config, _ := strings.Cut(arg, " with ")
	return &v1alpha1.PluginStep{Name: name, Config: quoted(config)}
}

// callText is what a plugin is asked.
func callText(c change.StepCall) (text, why string) {
	text = fmt.Sprintf("%s: %s step %d", c.Name, c.Operation, c.Index+1)
	why = "config " + cmp.Or(string(c.Config), "none") + ", state " + cmp.Or(string(c.Status), "none")
	if c.Operation == v1alpha1.StepPluginRun {
		text += fmt.Sprintf(", call %d", c.Executions+1)
	}
	return text, why
}

// pluginText is what the status has of a plugin's step.
func pluginText(e v1alpha1.StepPluginStatus) string {
	parts := []string{fmt.Sprintf("step %d %s %s %s", e.Index+1, e.Name, e.Operation, e.Phase)}
	if e.Message != "" {
		parts[0] += ": " + e.Message
	}
	if e.Disabled {
		parts = append(parts, "disabled")
	}
	if e.Executions > 0 {
		parts = append(parts, fmt.Sprintf("%d calls", e.Executions))
	}
	if e.Backoff != "" {
		parts = append(parts, "again after "+string(e.Backoff))
	}
	if e.FinishedAt != nil {
		parts = append(parts, "finished")
	}
	if len(e.Status) > 0 {
		parts = append(parts, "state "+string(e.Status))
	}
	return strings.Join(parts, ", ")
}
