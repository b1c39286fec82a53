package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/argoproj/notifications-engine/pkg/services"
	"sigs.k8s.io/yaml"
)

// newer are what templates may have for libraries after notifications-engine 0.5.0, the latest release, and what to write instead: blocks, and fields
// of blocks.
var newer = map[string]string{
	"nats":                 "use the block webhook, with a service that publishes the message",
	"gcppubsub":            "use the block webhook, with a service that publishes the message",
	"teams.adaptiveCard":   "write the card into the field template, or into teams-workflows.adaptiveCard",
	"pagerdutyv2.dedupKey": "each message is an alert of its own; for one alert, post dedup_key to https://events.pagerduty.com/v2/enqueue with the block webhook",
}

// workflows is the block of such a library for Teams' workflows.
const workflows = "teams-workflows"

// notification reads a template. What is not known is ignored, and named in the errors.
func notification(text string) (source services.Notification, ignored []error, err error) {
	if err := yaml.Unmarshal([]byte(text), &source); err != nil {
		return source, nil, err
	}
	var blocks map[string]json.RawMessage
	if err := yaml.Unmarshal([]byte(text), &blocks); err != nil {
		return source, nil, err
	}
	if block, there := blocks[workflows]; there {
		delete(blocks, workflows)
		ignored = append(ignored, asWorkflows(block, &source)...)
	}
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		if instead, ok := newer[name]; ok {
			ignored = append(ignored, fmt.Errorf("%s is not supported, and ignored: %s", name, instead))
			delete(blocks, name)
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(blocks[name], &fields) != nil {
			continue // no block
		}
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			if instead, ok := newer[name+"."+field]; ok {
				ignored = append(ignored, fmt.Errorf("%s.%s is not supported, and ignored: %s", name, field, instead))
				delete(fields, field)
				if blocks[name], err = json.Marshal(fields); err != nil {
					return source, nil, err
				}
			}
		}
	}
	if err := strictly(blocks, new(services.Notification)); err != nil {
		ignored = append(ignored, fmt.Errorf("what is not known is ignored: %w", err))
	}
	return source, ignored, nil
}

// asWorkflows takes the block for workflows as that for connectors, which has the same fields but for the card.
func asWorkflows(text []byte, source *services.Notification) []error {
	if source.Teams != nil {
		return []error{fmt.Errorf("%s is ignored, since there is a block teams, which workflows take as well: write one of them", workflows)}
	}
	var teams services.TeamsNotification
	var card struct {
		AdaptiveCard string `json:"adaptiveCard,omitempty"`
	}
	if err := errors.Join(yaml.Unmarshal(text, &teams), yaml.Unmarshal(text, &card)); err != nil {
		return []error{fmt.Errorf("%s is ignored: %w", workflows, err)}
	}
	teams.Template = cmp.Or(card.AdaptiveCard, teams.Template)
	source.Teams = &teams
	var rest map[string]json.RawMessage
	if err := json.Unmarshal(text, &rest); err != nil {
		return []error{fmt.Errorf("%s: %w", workflows, err)}
	}
	delete(rest, "adaptiveCard")
	if err := strictly(rest, new(services.TeamsNotification)); err != nil {
		return []error{fmt.Errorf("%s: what is not known is ignored: %w", workflows, err)}
	}
	return nil
}

// strictly reads what nothing may be unknown in. As elsewhere in YAML, a number or a truth value may stand for a text.
func strictly(fields map[string]json.RawMessage, into any) error {
	text, err := json.Marshal(fields)
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner // "error unmarshaling JSON: while decoding JSON" helps nobody
	}
	return err
}
