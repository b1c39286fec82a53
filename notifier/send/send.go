package send

import (
	"context"
	"errors"
	"fmt"

	"github.com/argoproj/notifications-engine/pkg/services"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/deliver"
)

// Sender sends messages. Its errors are *deliver.Refused where another attempt is useless, and *deliver.Later where the server says when.
type Sender interface {
	Send(ctx context.Context, n services.Notification, to config.Destination) error
}

// New returns the sender of a configured service. What a namespace configures for itself gets only where that may lead.
func New(s config.Service, n *Network, selfService bool) (Sender, error) {
	if selfService {
		n = n.ofTenants()
	}
	switch s.Type {
	case "slack":
		return settings(s, n, newSlack)
	case "webhook":
		return settings(s, n, newWebhook)
	case "email":
		return settings(s, n, newEmail)
	case "teams":
		return settings(s, n, newTeams)
	case "teams-workflows":
		return settings(s, n, newWorkflows)
	case "nats", "gcppubsub":
		return nil, fmt.Errorf("service type '%s' is not supported: use a webhook that publishes the message", s.Type)
	}
	return newFromLibrary(s, n, selfService)
}

func settings[T any](s config.Service, n *Network, make func(T, *Network) (Sender, error)) (Sender, error) {
	var options T
	if err := yaml.Unmarshal(s.Settings, &options); err != nil {
		return nil, err
	}
	return make(options, n)
}

func refused(err error) error {
	if err == nil {
		return nil
	}
	return &deliver.Refused{Err: err}
}

func refusedf(format string, args ...any) error { return refused(fmt.Errorf(format, args...)) }

// errNowhere is of a service without an address.
var errNowhere = errors.New("it has no address to send to")
