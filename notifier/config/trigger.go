package config

import (
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/internal/expr"
)

// Condition is an element of a trigger.
type Condition struct {
	When        string   `json:"when,omitempty"`
	Send        []string `json:"send,omitempty"`
	OncePer     string   `json:"oncePer,omitempty"`
	Description string   `json:"description,omitempty"`
	// Events are reasons of events, for triggers that are not named after one. Argo Rollouts does not know the field.
	Events []string `json:"events,omitempty"`
	// Err is what is wrong with it. It is never met then.
	Err error `json:"-"`
}

// variables are the names that conditions know.
var variables = []string{
	"rollout", "analysisRuns", "analysisRun", "experiment", "time", "secrets", "event", "trigger", "explain", "links", "analysis", "diff", "missed",
	"waiting", "step", "degraded", "by", "delivery", "cdevent",
}

func (c Condition) check() error {
	for _, reason := range c.Events {
		if !OfEvents(TriggerOf(reason)) {
			return fmt.Errorf("events: %q is no reason of an event, such as RolloutCompleted: see docs/reference/names.md", reason)
		}
	}
	if c.When != "" {
		if err := expr.CheckWith(c.When, variables...); err != nil {
			return fmt.Errorf("when: %w", err)
		}
	}
	if c.OncePer != "" {
		if err := expr.CheckWith(c.OncePer, variables...); err != nil {
			return fmt.Errorf("oncePer: %w", err)
		}
	}
	return nil
}

// Met reports whether the condition is true. What is not a truth, or cannot be evaluated, is false, with the reason.
func (c Condition) Met(ctx context.Context, vars map[string]any, now time.Time) (bool, error) {
	if c.Err != nil {
		return false, c.Err
	}
	out, err := evaluate(ctx, c.When, vars, now)
	if err != nil {
		return false, fmt.Errorf("when %q: %w", c.When, err)
	}
	met, _ := out.(bool)
	return met, nil
}

// Once is the value of oncePer, empty without one.
func (c Condition) Once(ctx context.Context, vars map[string]any, now time.Time) (string, error) {
	if c.OncePer == "" {
		return "", nil
	}
	out, err := evaluate(ctx, c.OncePer, vars, now)
	if err != nil {
		return "", fmt.Errorf("oncePer %q: %w", c.OncePer, err)
	}
	return fmt.Sprintf("%v", out), nil
}

func evaluate(ctx context.Context, text string, vars map[string]any, now time.Time) (any, error) {
	known := make(map[string]any, len(variables))
	for _, name := range variables {
		known[name] = vars[name]
	}
	return expr.With(ctx, text, known, now)
}

// Key is how the annotation notified.notifications.argoproj.io calls the condition with this index.
func (c Condition) Key(index int) string {
	sum := sha1.Sum([]byte(c.When))
	return fmt.Sprintf("[%d].%s", index, base64.RawURLEncoding.EncodeToString(sum[:]))
}

var (
	beforeWord  = regexp.MustCompile(`(.)([A-Z][a-z]+)`)
	beforeUpper = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// TriggerOf is the name of the trigger of events with this reason, such as on-rollout-completed.
func TriggerOf(reason string) string {
	dashed := beforeWord.ReplaceAllString(reason, "$1-$2")
	return "on-" + strings.ToLower(beforeUpper.ReplaceAllString(dashed, "$1-$2"))
}

// Fires reports whether a condition of a trigger is asked when an event with this reason happens.
func (c Condition) Fires(trigger, reason string) bool {
	if len(c.Events) > 0 {
		return slices.Contains(c.Events, reason)
	}
	return TriggerOf(reason) == trigger
}

// OfStates reports whether a condition of a trigger is asked when a Rollout changes.
func (c Condition) OfStates(trigger string) bool { return len(c.Events) == 0 && !OfEvents(trigger) }

// OfEvents reports whether a trigger is named after an event. It fires when the event happens, others when their condition becomes true.
func OfEvents(trigger string) bool { return ofEvents[trigger] }
