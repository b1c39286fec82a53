package send

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/argoproj/notifications-engine/pkg/services"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/notifier/config"
)

// addresses are the settings of the library's services that say where to send.
var addresses = map[string][]string{
	"mattermost": {"apiURL"}, "rocketchat": {"serverUrl"}, "grafana": {"apiUrl"}, "opsgenie": {"apiUrl"}, "googlechat": {"webhooks"},
	"alertmanager": {"targets"}, "newrelic": {"apiURL"}, "webex": {"apiURL"}, "github": {"enterpriseBaseURL"}, "awssqs": {"endpointUrl"},
	"telegram": nil, "pushover": nil, "pagerduty": nil, "pagerdutyv2": nil,
}

// library is a service of notifications-engine. Its requests go through the proxy of this process (egress.go), which ends those that hang.
type library struct {
	service services.NotificationService
	busy    chan struct{}
}

func newFromLibrary(s config.Service, n *Network, selfService bool) (Sender, error) {
	keys, known := addresses[s.Type]
	if !known {
		return nil, fmt.Errorf("service type '%s' is not supported", s.Type)
	}
	if err := reachable(s, n, keys, selfService); err != nil {
		return nil, err
	}
	service, err := services.NewService(s.Type, s.Settings)
	if err != nil {
		return nil, err
	}
	return &library{service, make(chan struct{}, 1)}, nil
}

// reachable checks the servers that the settings name. The proxy checks addresses for the whole process; what a namespace chooses itself
// must be named by the operator.
func reachable(s config.Service, n *Network, keys []string, selfService bool) error {
	var values map[string]any
	if err := yaml.Unmarshal(s.Settings, &values); err != nil {
		return err
	}
	for _, key := range keys {
		for _, address := range texts(values[key]) {
			host := hostOf(address)
			if selfService && len(n.rules.Hosts) == 0 {
				return fmt.Errorf("%s: server %q is chosen by the namespace: have the notifier's operator name it with --allow-hosts", key, host)
			}
			if host == "localhost" {
				host = "127.0.0.1"
			}
			if err := n.Host(host); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	return nil
}

func texts(value any) []string {
	var all []string
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			all = append(all, texts(e)...)
		}
	case map[string]any:
		for _, e := range v {
			all = append(all, texts(e)...)
		}
	}
	return all
}

// hostOf is the server of a URL, or of host:port.
func hostOf(address string) string {
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Hostname()
}

// Send sends one message at a time, since the library cannot be told to stop.
func (l *library) Send(ctx context.Context, n services.Notification, to config.Destination) error {
	select {
	case l.busy <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("an earlier message is still being sent: %w", ctx.Err())
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-l.busy }()
		done <- l.try(n, to)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// try has the library send. Where it panics, as it does for some blocks that lack a field, the message is refused.
func (l *library) try(n services.Notification, to config.Destination) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = refusedf("%v", p)
		}
	}()
	return l.service.Send(n, services.Destination{Service: to.Service, Recipient: to.Recipient})
}
