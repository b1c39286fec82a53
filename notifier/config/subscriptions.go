package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

const (
	subscribe     = "notifications.argoproj.io/subscribe."
	subscriptions = "notifications.argoproj.io/subscriptions"
	// maxDestinations is how many destinations one object may name: a message to each is rendered and kept.
	maxDestinations = 200
)

// Destination is where a message goes: a recipient, as one of the services knows it.
type Destination struct {
	Service   string `json:"service"`
	Recipient string `json:"recipient"`
}

func (d Destination) String() string { return d.Service + ":" + d.Recipient }

// ParseDestination reads service:recipient. The recipient may have colons, as a URL does.
func ParseDestination(text string) Destination {
	service, recipient, _ := strings.Cut(text, ":")
	return Destination{service, recipient}
}

// Subscription is an element of the ConfigMap's key subscriptions.
type Subscription struct {
	Recipients []string `json:"recipients"`
	Triggers   []string `json:"triggers"`
	Selector   string   `json:"selector"`
	selector   labels.Selector
}

func (c *Config) subscriptions(text string) []error {
	return eachOf(text, func(element []byte) (err error) {
		var s Subscription
		if err := yaml.Unmarshal(element, &s); err != nil {
			return err
		}
		if s.selector, err = labels.Parse(s.Selector); err != nil {
			return fmt.Errorf("selector %q: %w", s.Selector, err)
		}
		c.Subscriptions = append(c.Subscriptions, s)
		return nil
	})
}

// Subscribed says for each trigger where an object's messages go, and what is wrong with the object's own subscriptions. With global, the
// ConfigMap's subscriptions count too.
func (c *Config) Subscribed(annotations, objectLabels map[string]string, global bool) (map[string][]Destination, []error) {
	s := subscriber{config: c, to: map[string]map[Destination]bool{}}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		switch {
		case strings.HasPrefix(key, subscribe):
			s.wrong = append(s.wrong, s.annotation(key[len(subscribe):], annotations[key])...)
		case key == subscriptions:
			s.wrong = append(s.wrong, s.list(annotations[key])...)
		}
	}
	for _, sub := range c.Subscriptions {
		if global && sub.selector.Matches(labels.Set(objectLabels)) {
			for _, r := range sub.Recipients {
				s.add(triggersOr(sub.Triggers, c.DefaultTriggers), ParseDestination(r))
			}
		}
	}
	all := map[string][]Destination{}
	for trigger, to := range s.to {
		all[trigger] = slices.SortedFunc(maps.Keys(to), func(a, b Destination) int { return strings.Compare(a.String(), b.String()) })
	}
	return all, s.wrong
}

type subscriber struct {
	config *Config
	to     map[string]map[Destination]bool
	count  int
	wrong  []error
}

func (s *subscriber) add(triggers []string, to Destination) {
	for _, trigger := range triggers {
		switch {
		case s.to[trigger][to]:
			continue
		case s.count == maxDestinations:
			s.wrong = append(s.wrong, fmt.Errorf("more than %d subscriptions of one object: the rest are ignored", maxDestinations))
			s.count++
			return
		case s.count > maxDestinations:
			return
		}
		if s.to[trigger] == nil {
			s.to[trigger] = map[Destination]bool{}
		}
		s.to[trigger][to] = true
		s.count++
	}
}

// defaults are the triggers of a subscription that names none.
func (s *subscriber) defaults(service string) []string {
	if own, ok := s.config.ServiceDefaultTriggers[service]; ok {
		return own
	}
	return s.config.DefaultTriggers
}

func triggersOr(named, defaults []string) []string {
	if len(named) > 0 {
		return named
	}
	return defaults
}

// annotation is subscribe.TRIGGER.SERVICE or subscribe.SERVICE.
func (s *subscriber) annotation(name, value string) []error {
	trigger, service, both := strings.Cut(name, ".")
	if !both {
		trigger, service = "", trigger
	}
	if service == "" || strings.Contains(service, ".") {
		return []error{fmt.Errorf("annotation %s%s: write subscribe.TRIGGER.SERVICE, neither with a dot", subscribe, name)}
	}
	var named []string
	if trigger != "" {
		named = []string{trigger}
	}
	triggers := triggersOr(named, s.defaults(service))
	if strings.TrimSpace(value) == "" {
		s.add(triggers, Destination{Service: service})
		return nil
	}
	for r := range strings.SplitSeq(value, ";") {
		if r = strings.TrimSpace(r); r != "" {
			s.add(triggers, Destination{service, r})
		}
	}
	return nil
}

// list is the annotation subscriptions.
func (s *subscriber) list(text string) []error {
	wrong := eachOf(text, func(element []byte) error {
		var e struct {
			Trigger      []string
			Destinations []struct {
				Service    string
				Recipients []string
			}
		}
		if err := yaml.Unmarshal(element, &e); err != nil {
			return err
		}
		for _, d := range e.Destinations {
			if d.Service == "" {
				return fmt.Errorf("a destination has no service: write one, such as service: slack")
			}
			for _, r := range d.Recipients {
				s.add(triggersOr(e.Trigger, s.defaults(d.Service)), Destination{d.Service, r})
			}
		}
		return nil
	})
	for i, err := range wrong {
		wrong[i] = fmt.Errorf("annotation %s: %w", subscriptions, err)
	}
	return wrong
}
