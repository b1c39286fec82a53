package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/argoproj/notifications-engine/pkg/services"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/notifier/message"
)

// The names of the objects that hold the configuration.
const (
	ConfigMapName = "argo-rollouts-notification-configmap"
	SecretName    = "argo-rollouts-notification-secret"
)

// Config is what one ConfigMap and its Secret say.
type Config struct {
	// Namespace is where the ConfigMap is.
	Namespace string
	// SelfService is set for the configuration of a namespace for its own objects.
	SelfService bool

	Services               map[string]Service
	Templates              map[string]*message.Template
	Sources                map[string]services.Notification
	Triggers               map[string][]Condition
	DefaultTriggers        []string
	ServiceDefaultTriggers map[string][]string
	Subscriptions          []Subscription
	Secrets                map[string][]byte
	// Dashboard is the address of Sluice's dashboard, Source what CDEvents name as their source. Both may be empty.
	Dashboard, Source string
	// Problems are the entries that are left out.
	Problems []Problem
}

// Service is an account that messages are sent with.
type Service struct {
	// Type is slack, email and so on; Name is what subscriptions call it.
	Type, Name string
	// Settings are YAML, with the Secret's values filled in.
	Settings []byte
}

// Key is the service's key in the ConfigMap.
func (s Service) Key() string {
	if s.Name == s.Type {
		return "service." + s.Type
	}
	return "service." + s.Type + "." + s.Name
}

// Problem is an entry of the ConfigMap that cannot be used.
type Problem struct {
	Key string
	Err error
}

func (p Problem) Error() string { return fmt.Sprintf("%s: %v", p.Key, p.Err) }

// Parse reads a configuration. secret may be nil.
func Parse(configMap *corev1.ConfigMap, secret *corev1.Secret) *Config {
	c := &Config{
		Namespace: configMap.Namespace,
		Services:  map[string]Service{}, Templates: map[string]*message.Template{}, Sources: map[string]services.Notification{},
		Triggers: map[string][]Condition{}, ServiceDefaultTriggers: map[string][]string{}, Secrets: map[string][]byte{},
	}
	if secret != nil {
		c.Secrets = secret.Data
	}
	for _, key := range slices.Sorted(maps.Keys(configMap.Data)) {
		for _, err := range c.entry(key, configMap.Data[key]) {
			c.Problems = append(c.Problems, Problem{key, err})
		}
	}
	return c
}

// entry reads one key. Keys of other names belong to other programs.
func (c *Config) entry(key, text string) []error {
	kind, name, _ := strings.Cut(key, ".")
	switch {
	case key == "subscriptions":
		return c.subscriptions(text)
	case key == "sluice.dashboardURL":
		return asList(c.dashboard(strings.TrimSpace(text)))
	case key == "sluice.cdeventsSource":
		return asList(c.source(strings.TrimSpace(text)))
	case key == "defaultTriggers":
		return asList(yaml.Unmarshal([]byte(text), &c.DefaultTriggers))
	case kind == "defaultTriggers":
		var triggers []string
		if err := yaml.Unmarshal([]byte(text), &triggers); err != nil {
			return []error{err}
		}
		c.ServiceDefaultTriggers[name] = triggers
	case kind == "template":
		return c.template(name, text)
	case kind == "trigger":
		return c.trigger(name, text)
	case kind == "service":
		return asList(c.service(key, name, text))
	}
	return nil
}

func (c *Config) dashboard(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%q is not the address of a dashboard, such as https://rollouts.example.com", address)
	}
	c.Dashboard = address
	return nil
}

func (c *Config) source(reference string) error {
	if _, err := url.Parse(reference); err != nil || reference == "" || strings.ContainsAny(reference, " \n") {
		return fmt.Errorf("%q is not a URI reference, such as https://rollouts.example.com or /clusters/blue", reference)
	}
	c.Source = reference
	return nil
}

func asList(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}

func (c *Config) template(name, text string) []error {
	source, ignored, err := notification(text)
	if err != nil {
		return []error{err}
	}
	parsed, err := message.Parse(name, source)
	if err != nil {
		return []error{err}
	}
	c.Templates[name], c.Sources[name] = parsed, source
	return ignored
}

func (c *Config) trigger(name, text string) []error {
	var conditions []Condition
	if err := yaml.Unmarshal([]byte(text), &conditions); err != nil {
		return []error{err}
	}
	var wrong []error
	for i := range conditions {
		if err := conditions[i].check(); err != nil {
			conditions[i].Err = err
			wrong = append(wrong, fmt.Errorf("condition %d: %w", i, err))
		}
	}
	c.Triggers[name] = conditions
	return wrong
}

func (c *Config) service(key, name, text string) error {
	parts := strings.Split(name, ".")
	if len(parts) > 2 || parts[0] == "" {
		return fmt.Errorf("invalid service key; expected 'service.<type>(.<name>)' but got '%s'", key)
	}
	settings, err := withSecrets(text, c.Secrets)
	if err != nil {
		return err
	}
	called := parts[len(parts)-1]
	if _, there := c.Services[called]; there {
		return fmt.Errorf("there are two services called %q: give one of them another name", called)
	}
	c.Services[called] = Service{Type: parts[0], Name: called, Settings: settings}
	return nil
}

// Render makes the message that templates give, later ones over earlier ones. vars is the caller's own: templates may change it.
func (c *Config) Render(templates []string, vars map[string]any) (services.Notification, error) {
	var n services.Notification
	for _, name := range templates {
		t, ok := c.Templates[name]
		if !ok {
			return n, fmt.Errorf("template '%s' is not supported", name)
		}
		if err := t.Apply(&n, vars); err != nil {
			return n, fmt.Errorf("template '%s': %w", name, err)
		}
	}
	return n, nil
}

// eachOf reads a YAML list element by element, so that one that is wrong leaves the others.
func eachOf(text string, read func(element []byte) error) []error {
	var elements []json.RawMessage
	if err := yaml.Unmarshal([]byte(text), &elements); err != nil {
		return []error{err}
	}
	var wrong []error
	for i, e := range elements {
		if string(e) == "null" {
			wrong = append(wrong, fmt.Errorf("element %d: %w", i, errors.New("it is empty")))
		} else if err := read(e); err != nil {
			wrong = append(wrong, fmt.Errorf("element %d: %w", i, err))
		}
	}
	return wrong
}
