package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/argoproj/notifications-engine/pkg/services"
	"golang.org/x/net/http/httpproxy"

	"github.com/sluice-delivery/sluice/internal/spelling"
	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/send"
)

// problems are the entries of a configuration that cannot be used, or do nothing. Each names its key, what is wrong, and what to do.
func problems(c *config.Config) []error {
	l := linting{Config: c}
	for _, p := range c.Problems {
		l.all = append(l.all, p)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Triggers)) {
		for i, condition := range c.Triggers[name] {
			l.condition(name, i, condition)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		l.webhooks(name, c.Sources[name])
	}
	l.triggers("defaultTriggers", c.DefaultTriggers)
	for _, service := range slices.Sorted(maps.Keys(c.ServiceDefaultTriggers)) {
		l.triggers("defaultTriggers."+service, c.ServiceDefaultTriggers[service])
	}
	for i, s := range c.Subscriptions {
		key := fmt.Sprintf("subscriptions: element %d", i)
		l.triggers(key, s.Triggers)
		for _, r := range s.Recipients {
			l.service(key+": recipient "+r, config.ParseDestination(r).Service)
		}
	}
	return l.all
}

type linting struct {
	*config.Config
	all []error
}

func (l *linting) wrong(format string, args ...any) {
	l.all = append(l.all, fmt.Errorf(format, args...))
}

func (l *linting) condition(trigger string, index int, c config.Condition) {
	if len(c.Send) == 0 {
		l.wrong("trigger.%s: condition %d: send is empty: name at least one template", trigger, index)
	}
	if c.When == "" && !config.OfEvents(trigger) {
		l.wrong("trigger.%s: condition %d: it never fires: it has no when, and the trigger is not named after an event; write when: 'true' if it must always hold", trigger, index)
	}
	for _, template := range c.Send {
		if l.Templates[template] == nil {
			l.wrong("trigger.%s: condition %d: template '%s' is not supported: add the key template.%s%s", trigger, index, template, template, meant(template, l.Templates))
		}
	}
}

func (l *linting) triggers(key string, names []string) {
	for _, name := range names {
		if l.Triggers[name] == nil {
			l.wrong("%s: trigger '%s' is not configured: add the key trigger.%s%s", key, name, name, meant(name, l.Triggers))
		}
	}
}

func (l *linting) service(key, name string) {
	if _, known := l.Services[name]; !known {
		l.wrong("%s: notification service '%s' is not supported: add the key service.TYPE or service.TYPE.%s%s", key, name, name, meant(name, l.Services))
	}
}

func (l *linting) webhooks(template string, n services.Notification) {
	for _, name := range slices.Sorted(maps.Keys(n.Webhook)) {
		if s, known := l.Services[name]; !known || s.Type != "webhook" {
			l.wrong("template.%s: webhook.%s: there is no such service: add the key service.webhook.%s", template, name, name)
		}
	}
}

// meant proposes a name that is there.
func meant[T any](name string, there map[string]T) string {
	if near := spelling.Nearest(name, slices.Sorted(maps.Keys(there))); near != "" {
		return fmt.Sprintf(", or write %s", near)
	}
	return ""
}

// senders are the services whose settings are wrong.
func senders(c *config.Config) []error {
	var all []error
	network := send.NewNetwork(send.Rules{}, &httpproxy.Config{})
	for _, name := range slices.Sorted(maps.Keys(c.Services)) {
		if _, err := send.New(c.Services[name], network, false); err != nil {
			all = append(all, fmt.Errorf("service %s: %w", name, err))
		}
	}
	return all
}
