package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/argoproj/notifications-engine/pkg/services"
	"golang.org/x/net/http/httpproxy"

	"github.com/sluice-delivery/sluice/internal/spelling"
	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/send"
)

// finding is an entry of a configuration that cannot be used, or does nothing: its key, what is wrong, and what to do.
type finding struct {
	Key     string `json:"key"`
	Message string `json:"message"`
}

func (f finding) Error() string { return f.Key + ": " + f.Message }

// lint returns a configuration's findings.
func lint(c *config.Config) []finding {
	all := []finding{} // which JSON writes as a list, too
	for _, err := range append(problems(c), senders(c)...) {
		all = append(all, err.(finding)) //nolint:errorlint // nothing wraps them
	}
	return all
}

// problems are the entries of a configuration that cannot be used, or do nothing, but for the services.
func problems(c *config.Config) []error {
	l := linting{Config: c}
	for _, p := range c.Problems {
		l.wrong(p.Key, "%v", p.Err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Triggers)) {
		for i, condition := range c.Triggers[name] {
			l.condition(name, i, condition)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		l.webhooks(name, c.Sources[name])
	}
	l.triggers("defaultTriggers", "", c.DefaultTriggers)
	for _, service := range slices.Sorted(maps.Keys(c.ServiceDefaultTriggers)) {
		l.triggers("defaultTriggers."+service, "", c.ServiceDefaultTriggers[service])
	}
	for i, s := range c.Subscriptions {
		where := fmt.Sprintf("element %d: ", i)
		l.triggers("subscriptions", where, s.Triggers)
		for _, r := range s.Recipients {
			l.service("subscriptions", where+"recipient "+r+": ", config.ParseDestination(r).Service)
		}
	}
	return l.all
}

type linting struct {
	*config.Config
	all []error
}

func (l *linting) wrong(key, format string, args ...any) {
	l.all = append(l.all, finding{key, fmt.Sprintf(format, args...)})
}

func (l *linting) condition(trigger string, index int, c config.Condition) {
	if len(c.Send) == 0 {
		l.wrong("trigger."+trigger, "condition %d: send is empty: name at least one template", index)
	}
	if c.When == "" && c.OfStates(trigger) {
		l.wrong("trigger."+trigger, "condition %d: it never fires: it has no when, and the trigger is not named after an event; write when: 'true' if it must always hold", index)
	}
	for _, template := range c.Send {
		if l.Templates[template] == nil {
			l.wrong("trigger."+trigger, "condition %d: template '%s' is not supported: add the key template.%s%s", index, template, template, meant(template, l.Templates))
		}
	}
}

func (l *linting) triggers(key, where string, names []string) {
	for _, name := range names {
		if l.Triggers[name] == nil {
			l.wrong(key, "%strigger '%s' is not configured: add the key trigger.%s%s", where, name, name, meant(name, l.Triggers))
		}
	}
}

func (l *linting) service(key, where, name string) {
	if _, known := l.Services[name]; !known {
		l.wrong(key, "%snotification service '%s' is not supported: add the key service.TYPE or service.TYPE.%s%s", where, name, name, meant(name, l.Services))
	}
}

func (l *linting) webhooks(template string, n services.Notification) {
	for _, name := range slices.Sorted(maps.Keys(n.Webhook)) {
		if s, known := l.Services[name]; !known || s.Type != "webhook" {
			l.wrong("template."+template, "webhook.%s: there is no such service: add the key service.webhook.%s", name, name)
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

// lacksSecret reports whether settings still name a key that the Secret does not have, so that nothing can be said about the value. GitHub's is a
// private key, which is parsed.
func lacksSecret(s config.Service) bool {
	return s.Type == "github" && bytes.ContainsRune(s.Settings, '$')
}

// senders are the services whose settings are wrong.
func senders(c *config.Config) []error {
	var all []error
	network := send.NewNetwork(send.Rules{}, &httpproxy.Config{})
	for _, name := range slices.Sorted(maps.Keys(c.Services)) {
		if _, err := send.New(c.Services[name], network, false); err != nil && !lacksSecret(c.Services[name]) {
			all = append(all, finding{c.Services[name].Key(), err.Error()})
		}
	}
	return all
}
