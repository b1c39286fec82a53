package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Templates for later versions of the library: what has the same meaning is taken, all else is named with what to write instead, and the message is
// sent without it.
func TestBlocksOfLaterVersions(t *testing.T) {
	for name, c := range map[string]struct {
		text           string
		title, content string
		want           []string
	}{
		"a card for workflows":   {text: "teams-workflows: {adaptiveCard: '{{.x}}'}", content: "1"},
		"a template for them":    {text: "teams-workflows: {title: t, template: '{{.x}}'}", title: "t", content: "1"},
		"a title for them":       {text: "teams-workflows: {title: '{{.x}}'}", title: "1"},
		"both":                   {text: "teams: {title: t}\nteams-workflows: {title: u}", title: "t", want: []string{"teams-workflows is ignored, since there is a block teams, which workflows take as well: write one of them"}},
		"a mistake for them":     {text: "teams-workflows: {title: t, txt: t}", title: "t", want: []string{`teams-workflows: what is not known is ignored: json: unknown field "txt"`}},
		"a card for connectors":  {text: "teams: {title: t, adaptiveCard: '{}'}", title: "t", want: []string{"teams.adaptiveCard is not supported, and ignored: write the card into the field template, or into teams-workflows.adaptiveCard"}},
		"an alert that is known": {text: "pagerdutyv2: {summary: s, severity: info, source: w, dedupKey: w}", want: []string{"pagerdutyv2.dedupKey is not supported, and ignored: each message is an alert of its own; for one alert, post dedup_key to https://events.pagerduty.com/v2/enqueue with the block webhook"}},
		"NATS and Google Pub/Sub": {text: "nats: {}\ngcppubsub: {attributes: {a: b}}", want: []string{
			"gcppubsub is not supported, and ignored: use the block webhook, with a service that publishes the message",
			"nats is not supported, and ignored: use the block webhook, with a service that publishes the message",
		}},
		"numbers for texts": {text: "teams: {title: 7}\nopsgenie: {description: d, note: false}", title: "7"},
		"a number for them": {text: "teams-workflows: {title: 7}", title: "7"},
		"what nobody knows": {text: "nats: {}\nslak: {}", want: []string{
			"nats is not supported, and ignored: use the block webhook, with a service that publishes the message",
			`what is not known is ignored: json: unknown field "slak"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			config := parse(map[string]string{"template.t": "message: hello\n" + c.text})
			var got []string
			for _, p := range config.Problems {
				got = append(got, p.Err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			n, err := config.Render([]string{"t"}, map[string]any{"x": 1})
			if err != nil || n.Message != "hello" {
				t.Fatalf("%+v, %v", n, err)
			}
			if n.Teams != nil && (n.Teams.Title != c.title || n.Teams.Template != c.content) || n.Teams == nil && c.title+c.content != "" {
				t.Errorf("%+v", n.Teams)
			}
		})
	}
}
