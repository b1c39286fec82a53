package send

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/argoproj/notifications-engine/pkg/services"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/deliver"
)

// Sender sends messages. Its errors are *deliver.Refused where another attempt is useless, and *deliver.Later where the server says when.
type Sender interface {
	Send(ctx context.Context, n services.Notification, to config.Destination) error
}

// own are the services that the notifier sends to itself.
var own = map[string]func(config.Service, *Network) (Sender, error){
	"slack": settings(newSlack), "webhook": settings(newWebhook), "email": settings(newEmail), "teams": settings(newTeams),
	"teams-workflows": settings(newWorkflows),
}

// Types are the services that there are, in order.
func Types() []string {
	return slices.Sorted(slices.Values(slices.AppendSeq(slices.Collect(maps.Keys(own)), maps.Keys(addresses))))
}

// New returns the sender of a configured service. What a namespace configures for itself gets only where that may lead.
func New(s config.Service, n *Network, selfService bool) (Sender, error) {
	if selfService {
		n = n.ofTenants()
	}
	if make, ok := own[s.Type]; ok {
		return make(s, n)
	}
	switch s.Type {
	case "nats", "gcppubsub":
		return nil, fmt.Errorf("service type '%s' is not supported: use a webhook that publishes the message", s.Type)
	}
	return newFromLibrary(s, n, selfService)
}

func settings[T any](make func(T, *Network) (Sender, error)) func(config.Service, *Network) (Sender, error) {
	return func(s config.Service, n *Network) (Sender, error) {
		var options T
		if err := yaml.Unmarshal(s.Settings, &options); err != nil {
			return nil, err
		}
		return make(options, n)
	}
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
