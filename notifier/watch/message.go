package watch

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/deliver"
	"github.com/sluice-delivery/sluice/notifier/notified"
)

// notifier is what both ways share.
type notifier struct {
	client  client.Client
	live    client.Reader
	clock   clock.Clock
	log     *slog.Logger
	configs *configs
	queues  *deliver.Queues
	memory  *memory
	meters  *meters
	// deadline is how long a message is tried.
	deadline time.Duration
	// since is when notifications began in this cluster: what happened before was someone else's to tell.
	since time.Time
	// maxAge is how old an event may be that was not sent.
	maxAge time.Duration
}

// delivery is a message that is due.
type delivery struct {
	*subject
	config    *loaded
	trigger   string
	condition config.Condition
	to        config.Destination
	// key is what is recorded, in the annotation of each of these objects.
	key string
	in  []recorded
}

// recorded is a key in the annotation of an object.
type recorded struct {
	object client.Object
	key    string
}

// id tells messages apart.
func (d *delivery) id() string { return fmt.Sprintf("%s %s %s", d.uid(), d.config.Namespace, d.key) }

// uid is that of the object in which the message is recorded.
func (d *delivery) uid() types.UID { return d.in[0].object.GetUID() }

// send queues a message. It reports false if there is no room for it now.
func (n *notifier) send(d delivery) bool {
	if n.memory.dropped(d.id(), d.config.version) {
		return true
	}
	if !n.room(&d) {
		return false
	}
	now := n.clock.Now()
	vars := d.variables(d.config, d.trigger, now)
	vars["serviceType"], vars["recipient"] = d.to.Service, d.to.Recipient
	message, err := d.config.Render(d.condition.Send, vars)
	if err == nil {
		_, err = d.config.sender(d.to.Service)
	}
	if err != nil {
		n.failed(d, err)
		return true
	}
	return n.queues.Add(deliver.Message{
		ID: d.id(), To: destination(d.config, d.to),
		Tenant: d.object.GetNamespace(), Deadline: now.Add(n.deadline),
		Send: func(ctx context.Context) error {
			begun := n.clock.Now()
			defer func() { n.meters.took(d.object, n.clock.Since(begun)) }()
			current, err := n.configs.get(ctx, d.config.Namespace)
			if err != nil {
				return err
			}
			if current == nil {
				return &deliver.Refused{Err: fmt.Errorf("the ConfigMap %s is gone", config.ConfigMapName)}
			}
			sender, err := current.sender(d.to.Service)
			if err != nil {
				return &deliver.Refused{Err: err}
			}
			err = sender.Send(ctx, message, d.to)
			if err != nil {
				n.log.Info("a message could not be sent", "trigger", d.trigger, "service", d.to.Service, "object", d.name(), "error", err)
			}
			return err
		},
		Done: func(ctx context.Context, err error) { n.done(ctx, d, err) },
	})
}

func destination(l *loaded, to config.Destination) deliver.Destination {
	return deliver.Destination{Namespace: l.Namespace, Service: to.Service, Recipient: to.Recipient}
}

func (n *notifier) room(d *delivery) bool {
	return n.queues.Room(d.object.GetNamespace(), destination(d.config, d.to))
}

func (d *delivery) name() string {
	return d.object.GetKind() + " " + d.object.GetNamespace() + "/" + d.object.GetName()
}

func (n *notifier) failed(d delivery, err error) {
	n.memory.drop(d.id(), d.config.version)
	n.meters.failed(d)
	n.log.Warn("a message is dropped", "trigger", d.trigger, "to", d.to.Service, "object", d.name(), "error", err)
}

// done records that a message was sent.
func (n *notifier) done(ctx context.Context, d delivery, err error) {
	if err != nil {
		n.failed(d, err)
		return
	}
	now := n.clock.Now()
	n.meters.sent(d)
	for _, r := range d.in {
		n.memory.set(r.object.GetUID(), r.key, now)
		if err := n.record(ctx, r.object, func(s notified.State) { s.Set(r.key, now) }); err != nil {
			n.log.Warn("a message was sent, and that could not be recorded: it is sent again if the notifier is restarted now", "object", d.name(), "error", err)
		}
	}
}

// was reports whether a message was sent.
func (n *notifier) was(r recorded) bool {
	_, noted := notified.Parse(r.object.GetAnnotations()[notified.Annotation])[r.key]
	return noted || n.memory.has(r.object.GetUID(), r.key)
}
