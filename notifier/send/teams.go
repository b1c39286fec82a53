package send

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/argoproj/notifications-engine/pkg/services"

	"github.com/sluice-delivery/sluice/notifier/config"
)

// teams posts to an incoming webhook of Microsoft Teams: a connector, which takes message cards, or a workflow, which takes adaptive cards.
type teams struct {
	name    string
	urls    map[string]string
	network *Network
	// check says what is wrong with an address, content is what is posted there, taken whether that was accepted.
	check   func(*url.URL) error
	content func(services.Notification) ([]byte, error)
	taken   func(answer []byte) error
}

func newTeams(o services.TeamsOptions, n *Network) (Sender, error) {
	return &teams{
		"teams", o.RecipientUrls, n, func(*url.URL) error { return nil }, messageCard,
		func(answer []byte) error {
			if string(answer) != "1" {
				return fmt.Errorf("teams webhook post error: %s", shortened(answer))
			}
			return nil
		},
	}, nil
}

func newWorkflows(o services.TeamsOptions, n *Network) (Sender, error) {
	return &teams{"teams-workflows", o.RecipientUrls, n, workflowAddress, workflowMessage, func([]byte) error { return nil }}, nil
}

// Send posts the card.
func (t *teams) Send(ctx context.Context, n services.Notification, to config.Destination) error {
	address, ok := t.urls[to.Recipient]
	for _, known := range t.urls { // a recipient may be written as the address itself, of those that the configuration has
		if known == to.Recipient {
			address, ok = known, true
		}
	}
	if !ok {
		return refusedf("no %s webhook configured for recipient %s", t.name, to.Recipient)
	}
	u, err := url.Parse(address)
	if err == nil {
		err = t.check(u)
	}
	if err != nil {
		return refusedf("recipient %s: %w", to.Recipient, err)
	}
	content, err := t.content(n)
	if err != nil {
		return refused(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(content))
	if err != nil {
		return refusedf("%w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := do(t.network.client(false), r)
	if err != nil {
		return err
	}
	return t.taken(answer)
}

// messageCard is what connectors take.
func messageCard(n services.Notification) ([]byte, error) {
	block := cmp.Or(n.Teams, &services.TeamsNotification{})
	if block.Template != "" {
		return []byte(block.Template), nil
	}
	card := struct {
		Type            string           `json:"@type"`
		Context         string           `json:"context"`
		Title           string           `json:"title"`
		Summary         string           `json:"summary"`
		Text            string           `json:"text"`
		ThemeColor      string           `json:"themeColor,omitempty"`
		PotentialAction []map[string]any `json:"potentialAction,omitempty"`
		Sections        []map[string]any `json:"sections,omitempty"`
	}{
		Type: "MessageCard", Context: "https://schema.org/extensions", Title: block.Title, Summary: block.Summary,
		Text: cmp.Or(block.Text, n.Message), ThemeColor: block.ThemeColor,
	}
	var facts []map[string]any
	for _, part := range []struct {
		name, text string
		into       *[]map[string]any
	}{{"sections", block.Sections, &card.Sections}, {"facts", block.Facts, &facts}, {"potentialAction", block.PotentialAction, &card.PotentialAction}} {
		if err := parsed(part.name, part.text, part.into); err != nil {
			return nil, err
		}
	}
	if len(facts) > 0 {
		card.Sections = append(card.Sections, map[string]any{"facts": facts})
	}
	return json.Marshal(card)
}

func parsed(name, text string, into any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("teams %s unmarshalling error %w", name, err)
	}
	return nil
}

// workflowHosts are where Microsoft has workflows, on servers of these names or below them.
var workflowHosts = []string{"api.powerautomate.com", "api.powerplatform.com", "flow.microsoft.com", "webhook.office.com"}

func workflowAddress(u *url.URL) error {
	host := u.Hostname()
	if host == "localhost" || host == "127.0.0.1" {
		return nil
	}
	if u.Scheme != "https" {
		return fmt.Errorf("the address must begin with https://")
	}
	for _, known := range workflowHosts {
		if host == known || strings.HasSuffix(host, "."+known) {
			return nil
		}
	}
	return fmt.Errorf("%s is no server of Microsoft's workflows, such as api.powerautomate.com: copy the address from the workflow", host)
}

// workflowMessage is what workflows take.
func workflowMessage(n services.Notification) ([]byte, error) {
	card, err := adaptiveCard(n)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"type": "message", "attachments": []any{
		map[string]any{"contentType": "application/vnd.microsoft.card.adaptive", "content": card},
	}})
}

func adaptiveCard(n services.Notification) (any, error) {
	block := cmp.Or(n.Teams, &services.TeamsNotification{})
	if block.Template != "" {
		var card any
		err := parsed("template", block.Template, &card)
		return card, err
	}
	var facts, actions []map[string]any
	if err := parsed("facts", block.Facts, &facts); err != nil {
		return nil, err
	}
	if err := parsed("potentialAction", block.PotentialAction, &actions); err != nil {
		return nil, err
	}
	var body []any
	if block.Title != "" {
		title := map[string]any{"type": "TextBlock", "text": block.Title, "size": "Large", "weight": "Bolder", "wrap": true}
		if block.ThemeColor != "" {
			title["color"] = block.ThemeColor
		}
		body = append(body, title)
	}
	if text := cmp.Or(block.Text, n.Message); text != "" {
		body = append(body, map[string]any{"type": "TextBlock", "text": text, "wrap": true})
	}
	if len(facts) > 0 {
		var set []any
		for _, f := range facts {
			set = append(set, map[string]any{"title": f["name"], "value": f["value"]})
		}
		body = append(body, map[string]any{"type": "FactSet", "facts": set})
	}
	card := map[string]any{"type": "AdaptiveCard", "version": "1.4", "body": body}
	if opens := openings(actions); len(opens) > 0 {
		card["actions"] = opens
	}
	return card, nil
}

// openings are the actions of a message card that open a page, as an adaptive card has them.
func openings(actions []map[string]any) []any {
	var all []any
	for _, a := range actions {
		targets, _ := a["targets"].([]any)
		if a["@type"] != "OpenUri" || len(targets) == 0 {
			continue
		}
		if target, ok := targets[0].(map[string]any); ok {
			all = append(all, map[string]any{"type": "Action.OpenUrl", "title": a["name"], "url": target["uri"]})
		}
	}
	return all
}
