package send

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/notifications-engine/pkg/services"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http/httpproxy"

	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/deliver"
)

var loopback = Rules{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}

func sender(t *testing.T, rules Rules, kind, settings string) Sender {
	t.Helper()
	s, err := New(config.Service{Type: kind, Name: kind, Settings: []byte(settings)}, NewNetwork(rules, &httpproxy.Config{}), false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestWebhook(t *testing.T) {
	var got string
	address := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		user, _, _ := r.BasicAuth()
		got = strings.Join([]string{r.Method, r.URL.Path, r.Header.Get("X-Key"), user, string(body)}, " ")
	})
	s := sender(t, loopback, "webhook", "url: "+address+"/base/\nheaders: [{name: X-Key, value: k}]\nbasicAuth: {username: me}\nretryWaitMin: 1000000")
	for want, n := range map[string]services.Notification{
		"GET /base/ k me hello":        {Message: "hello"},
		"POST /base/p/q k me the body": {Message: "hello", Webhook: services.WebhookNotifications{"hook": {Method: "POST", Path: "/p/q", Body: "the body"}}},
	} {
		if err := s.Send(t.Context(), n, config.Destination{Service: "hook"}); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}

// Errors say whether and when to try again.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		code   int
		header string
		want   string
	}{
		"unavailable":        {503, "", "again"},
		"throttled":          {429, "120", "after 2m0s"},
		"throttled too long": {429, "99999999", "after 1h0m0s"},
		"unavailable, later": {503, "Thu, 01 Jan 2026 00:00:30 GMT", "after 30s"},
		"the token is wrong": {401, "", "again"},
		"the message is":     {400, "", "never"},
		"too large":          {413, "", "never"},
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", c.header)
				w.Header().Set("Date", "Thu, 01 Jan 2026 00:00:00 GMT")
				w.WriteHeader(c.code)
			})
			err := sender(t, loopback, "webhook", "url: "+address+"/secret").Send(t.Context(), services.Notification{}, config.Destination{})
			got := "again"
			if later := (*deliver.Later)(nil); errors.As(err, &later) {
				got = "after " + later.Wait.String()
			}
			if errors.As(err, new(*deliver.Refused)) {
				got = "never"
			}
			if err == nil || got != c.want || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s (%v), want %s", got, err, c.want)
			}
		})
	}
}

// Nothing gets to addresses that are out of reach: not by name, not by redirection, not by a service of the library.
func TestReach(t *testing.T) {
	inside := false
	target := serve(t, func(http.ResponseWriter, *http.Request) { inside = true })
	byName := strings.Replace(target, "127.0.0.1", "localhost", 1)
	for name, address := range map[string]string{"an address": target, "a name": byName, "metadata": "http://169.254.169.254/latest", "mapped": strings.Replace(target, "127.0.0.1", "[::ffff:127.0.0.1]", 1)} {
		err := sender(t, Rules{}, "webhook", "url: '"+address+"'").Send(t.Context(), services.Notification{}, config.Destination{})
		if err == nil || inside || !strings.Contains(err.Error(), "out of the notifier's reach") {
			t.Errorf("%s: %v", name, err)
		}
	}
	redirecting := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/", http.StatusTemporaryRedirect)
	})
	if err := sender(t, loopback, "webhook", "url: "+redirecting).Send(t.Context(), services.Notification{}, config.Destination{}); err == nil || !strings.Contains(err.Error(), "169.254.169.254") {
		t.Errorf("a redirection: %v", err)
	}
	only := Rules{Hosts: []string{"*.example.com"}, Allow: loopback.Allow}
	if err := sender(t, only, "webhook", "url: "+target).Send(t.Context(), services.Notification{}, config.Destination{}); err == nil || inside || !strings.Contains(err.Error(), "--allow-hosts") {
		t.Errorf("a server that is not listed: %v", err)
	}
	for _, settings := range []string{"apiURL: http://127.0.0.1:1", "apiURL: http://localhost:1"} {
		if _, err := New(config.Service{Type: "mattermost", Settings: []byte(settings)}, NewNetwork(Rules{}, &httpproxy.Config{}), false); err == nil {
			t.Errorf("mattermost with %s is accepted", settings)
		}
	}
}

// What a namespace configures itself gets to no private address, and has no library service at a server of its choice.
func TestReachOfTenants(t *testing.T) {
	n := NewNetwork(Rules{}, &httpproxy.Config{})
	tenant := n.ofTenants()
	for address, of := range map[string][2]bool{"10.0.0.1": {true, false}, "192.168.1.1": {true, false}, "fd00::1": {true, false}, "93.184.216.34": {true, true}, "169.254.169.254": {false, false}} {
		a := netip.MustParseAddr(address)
		if got := [2]bool{n.Address(a) == nil, tenant.Address(a) == nil}; got != of {
			t.Errorf("%s: %v, want %v (operator's services, namespaces')", address, got, of)
		}
	}
	for settings, want := range map[string]bool{"apiURL: https://chat.example.com": false, "token: x": true} {
		if _, err := New(config.Service{Type: "mattermost", Settings: []byte(settings)}, n, true); (err == nil) != want {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

// A server that hangs is left after the deadline, whatever the service.
func TestServersThatHang(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts in the kernel, and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	host, port, _ := net.SplitHostPort(l.Addr().String())
	for kind, settings := range map[string]string{
		"webhook": "url: http://" + l.Addr().String(), "slack": "apiURL: http://" + l.Addr().String() + "/\ntoken: x",
		"email": "host: " + host + "\nport: " + port + "\nfrom: a@example.com", "teams": "recipientUrls: {b@example.com: 'http://" + l.Addr().String() + "'}",
		"mattermost": "apiURL: http://" + l.Addr().String(),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if err := sender(t, loopback, kind, settings).Send(ctx, services.Notification{Message: "x"}, config.Destination{Service: kind, Recipient: "b@example.com"}); err == nil {
			t.Errorf("%s: no error", kind)
		}
		cancel()
	}
}

func TestTeams(t *testing.T) {
	var body map[string]any
	answer := "1"
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body = nil
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, answer)
	})
	block := &services.TeamsNotification{
		Title: "T", Facts: `[{"name":"a","value":"b"}]`, PotentialAction: `[{"@type":"OpenUri","name":"Open","targets":[{"os":"default","uri":"https://x"}]}]`,
	}
	n := services.Notification{Message: "hello", Teams: block}
	to := config.Destination{Service: "teams", Recipient: "ch"}
	if err := sender(t, loopback, "teams", "recipientUrls: {ch: '"+address+"'}").Send(t.Context(), n, to); err != nil {
		t.Fatal(err)
	}
	if body["@type"] != "MessageCard" || body["text"] != "hello" || body["title"] != "T" || len(body["sections"].([]any)) != 1 {
		t.Errorf("%v", body)
	}
	answer = "no"
	if err := sender(t, loopback, "teams", "recipientUrls: {ch: '"+address+"'}").Send(t.Context(), n, config.Destination{Recipient: address}); err == nil || err.Error() != "teams webhook post error: no" {
		t.Errorf("%v", err)
	}
	if err := sender(t, loopback, "teams", "{}").Send(t.Context(), n, config.Destination{Recipient: address}); err == nil || !strings.Contains(err.Error(), "no teams webhook configured for recipient "+address) {
		t.Errorf("%v", err)
	}
	if err := sender(t, loopback, "teams-workflows", "recipientUrls: {ch: '"+address+"'}").Send(t.Context(), n, to); err != nil {
		t.Fatal(err)
	}
	card := body["attachments"].([]any)[0].(map[string]any)["content"].(map[string]any)
	want := []any{map[string]any{"type": "Action.OpenUrl", "title": "Open", "url": "https://x"}}
	if diff := cmp.Diff(want, card["actions"]); diff != "" || card["version"] != "1.4" || len(card["body"].([]any)) != 3 {
		t.Errorf("%s\n%v", diff, card)
	}
	for address, ok := range map[string]bool{
		"https://prod-1.api.powerautomate.com/x": true, "https://evil.example.com/api.powerautomate.com": false, "http://flow.microsoft.com/x": false,
		"https://evilapi.powerautomate.com/x": false, "https://org.webhook.office.com/workflows/1": true, "https://a.b.environment.api.powerplatform.com/x": true,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := workflowAddress(u); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestSlackThreads(t *testing.T) {
	var calls []string
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls = append(calls, strings.TrimSpace(r.URL.Path+" "+r.FormValue("channel")+" "+r.FormValue("thread_ts")+r.FormValue("ts")))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok":true,"channel":"C1","ts":"7"}`)
	})
	s := sender(t, loopback, "slack", "token: x\napiURL: "+address+"/")
	for _, policy := range []string{`"Post"`, `"Post"`, `"Update"`, `"PostAndUpdate"`} {
		block := &services.SlackNotification{GroupingKey: "k"}
		if err := json.Unmarshal([]byte(policy), &block.DeliveryPolicy); err != nil {
			t.Fatal(err)
		}
		if err := s.Send(t.Context(), services.Notification{Message: "m", Slack: block}, config.Destination{Recipient: "ch"}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"/chat.postMessage ch", "/chat.postMessage ch 7", "/chat.update C1 7", "/chat.postMessage ch 7", "/chat.update C1 7"}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
}

// The library's requests go through the proxy of this process, by the same rules.
func TestEgress(t *testing.T) {
	plain := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "plain") })
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secure") }))
	t.Cleanup(secure.Close)
	for _, rules := range []Rules{loopback, {}} {
		allowed := len(rules.Allow) > 0
		e := &Egress{network: NewNetwork(rules, &httpproxy.Config{})}
		proxy := httptest.NewServer(e)
		t.Cleanup(proxy.Close)
		through, err := url.Parse(proxy.URL)
		if err != nil {
			t.Fatal(err)
		}
		client := secure.Client()
		client.Transport.(*http.Transport).Proxy = http.ProxyURL(through)
		client.CloseIdleConnections()
		for _, address := range []string{plain, secure.URL} {
			r, err := client.Get(address)
			got := err == nil && r.StatusCode == http.StatusOK
			if err == nil {
				_ = r.Body.Close()
			}
			if got != allowed {
				t.Errorf("%s with %v: %v", address, rules, err)
			}
		}
	}
}
