package wire

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/send"
)

var rewrite = flag.Bool("rewrite", false, "write what the servers are asked into testdata")

// service is one that is configured as its page says, with a template that uses all of its block.
type service struct{ key, settings, template, recipient string }

var services = []service{
	{"service.slack", "token: $token\nusername: bot\nicon: ':robot:'\ndisableUnfurl: true", `slack: {attachments: '[{"title": "{{.rollout.metadata.name}}", "color": "#18be52"}]', blocks: '[{"type": "section", "text": {"type": "plain_text", "text": "hello"}}]', groupingKey: g, notifyBroadcast: true}`, "deploys"},
	{"service.webhook.ops", "url: https://hooks.example.com/base\nheaders: [{name: X-Key, value: $token}, {name: Content-Type, value: application/json}]\nbasicAuth: {username: me, password: $token}", `webhook: {ops: {method: PUT, path: "/{{.rollout.metadata.name}}", body: '{"name": "{{.rollout.metadata.name}}"}'}}`, ""},
	{"service.teams", "recipientUrls: {deploys: 'https://outlook.office.com/webhook/$token'}", `teams: {title: T, summary: S, text: "{{.rollout.metadata.name}}", themeColor: "#E01E5A", facts: '[{"name": "a", "value": "b"}]', sections: '[{"title": "c"}]', potentialAction: '[{"@type": "OpenUri", "name": "Open", "targets": [{"os": "default", "uri": "https://x"}]}]'}`, "deploys"},
	{"service.teams-workflows", "recipientUrls: {deploys: 'https://prod.api.powerautomate.com/x?sig=$token'}", `teams: {title: T, text: "{{.rollout.metadata.name}}", facts: '[{"name": "a", "value": "b"}]', potentialAction: '[{"@type": "OpenUri", "name": "Open", "targets": [{"os": "default", "uri": "https://x"}]}]'}`, "deploys"},
	{"service.googlechat", "webhooks: {deploys: 'https://chat.googleapis.com/v1/spaces/x/messages?key=$token'}", `googlechat: {cardsV2: "- cardId: c\n  card: {header: {title: '{{.rollout.metadata.name}}'}}\n", threadKey: "{{.rollout.metadata.name}}"}`, "deploys"},
	{"service.opsgenie", "apiUrl: api.opsgenie.com\napiKeys: {team: $token}", `opsgenie: {description: "{{.rollout.metadata.name}}", priority: P2, alias: a, note: n, actions: [look], tags: [t], details: {k: v}, entity: e, user: u}`, "team"},
	{"service.pagerduty", "token: $token\nfrom: me@example.com\nserviceId: S1", `pagerduty: {title: "{{.rollout.metadata.name}}", body: b, urgency: high, priorityId: P1}`, "S1"},
	{"service.pagerdutyv2", "serviceKeys: {ops: $token}", `pagerdutyv2: {summary: "{{.rollout.metadata.name}}", severity: critical, source: s, component: c, group: g, class: k, url: "https://x"}`, "ops"},
	{"service.grafana", "apiUrl: https://grafana.example.com/api\napiKey: $token", "", "a|b"},
	{"service.alertmanager", "targets: [alerts.example.com:443]\nscheme: https\nbearerToken: $token", `alertmanager: {labels: {rollout: "{{.rollout.metadata.name}}"}, annotations: {a: b}, generatorURL: "https://x"}`, "default"},
	{"service.mattermost", "apiURL: https://mattermost.example.com\ntoken: $token", `mattermost: {attachments: '[{"title": "{{.rollout.metadata.name}}"}]'}`, "channel"},
	{"service.rocketchat", "serverUrl: https://rocket.example.com\nemail: me@example.com\npassword: $token\nalias: bot\nicon: ':robot:'", `rocketchat: {attachments: '[{"title": "{{.rollout.metadata.name}}"}]'}`, "#deploys"},
	{"service.telegram", "token: $token", "", "-1001"},
	{"service.pushover", "token: 0123456789012345678901234567ab", "", "0123456789012345678901234567cd"},
	{"service.newrelic", "apiURL: https://newrelic.example.com\napiKey: $token", `newrelic: {revision: "{{.rollout.metadata.name}}", changelog: c, description: d, user: u}`, "42"},
	{"service.webex", "apiURL: https://webex.example.com\ntoken: $token", "", "me@example.com"},
	{"service.github", "appID: 1\ninstallationID: 2\nprivateKey: $key\nenterpriseBaseURL: https://github.example.com", `github: {repoURLPath: "https://github.example.com/shop/{{.rollout.metadata.name}}.git", revisionPath: abc123, status: {state: success, label: rollouts, targetURL: "https://x"}}`, "x"},
	{"service.awssqs", "queue: deploys\naccount: '1'\nregion: eu-west-1\nendpointUrl: http://sqs.example.com\nkey: AK\nsecret: $token", `awssqs: {messageAttributes: {k: "{{.rollout.metadata.name}}"}}`, "deploys"},
}

func key(t *testing.T) []byte {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)})
}

// cardID is another one in each message.
var cardID = regexp.MustCompile(`"cardId": "[0-9a-f-]{36}"`)

// What each service is asked for a message with all that its block has. E-mail is in package e2e, with a server of its protocol.
func TestGoldenRequests(t *testing.T) {
	secret := &corev1.Secret{Data: map[string][]byte{"token": []byte("token"), "key": key(t)}}
	network := send.NewNetwork(send.Rules{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, httpproxy.FromEnvironment())
	var all strings.Builder
	for _, s := range services {
		t.Run(s.key, func(t *testing.T) {
			c := config.Parse(&corev1.ConfigMap{Data: map[string]string{s.key: s.settings, "template.t": "message: 'Rollout {{.rollout.metadata.name}} is done.'\n" + s.template}}, secret)
			if len(c.Problems) > 0 {
				t.Fatal(c.Problems)
			}
			n, err := c.Render([]string{"t"}, map[string]any{"rollout": map[string]any{"metadata": map[string]any{"name": "web"}}})
			if err != nil {
				t.Fatal(err)
			}
			name := s.key[strings.LastIndexByte(s.key, '.')+1:]
			sender, err := send.New(c.Services[name], network, false)
			if err != nil {
				t.Fatal(err)
			}
			world.asked = nil
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err = sender.Send(ctx, n, config.Destination{Service: name, Recipient: s.recipient})
			fmt.Fprintf(&all, "##### %s\n%s\n", s.key, cardID.ReplaceAllString(strings.Join(world.asked, ""), `"cardId": "a UUID"`))
			if err != nil || len(world.asked) == 0 {
				t.Errorf("%v, asked: %q", err, world.asked)
			}
		})
	}
	const golden = "testdata/requests.txt"
	if *rewrite {
		if err := os.WriteFile(golden, []byte(all.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), all.String()); diff != "" {
		t.Errorf("run with -rewrite if this is right (-want +got):\n%s", diff)
	}
}

// No service is left out of the test above.
func TestAllServicesAreThere(t *testing.T) {
	tested := map[string]bool{"email": true}
	for _, s := range services {
		tested[strings.Split(s.key, ".")[1]] = true
	}
	text, err := json.Marshal(slices.Sorted(maps.Keys(tested)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(send.Types(), slices.Sorted(maps.Keys(tested))); diff != "" {
		t.Errorf("supported (-) and tested (+) %s\n%s", text, diff)
	}
}
