package watch

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/send"
)

// configs are the configurations, read when they have changed.
type configs struct {
	reader      client.Reader
	network     *send.Network
	own         string
	selfService bool
	log         *slog.Logger

	mu     sync.Mutex
	loaded map[string]*loaded
}

// loaded is one namespace's configuration.
type loaded struct {
	*config.Config
	version string
	senders map[string]send.Sender
	wrong   map[string]error
}

// of returns the configurations for objects of a namespace.
func (c *configs) of(ctx context.Context, namespace string) ([]*loaded, error) {
	var all []*loaded
	namespaces := []string{c.own}
	if c.selfService && namespace != c.own {
		namespaces = append(namespaces, namespace)
	}
	for _, ns := range namespaces {
		l, err := c.get(ctx, ns)
		if err != nil {
			return nil, err
		}
		if l != nil {
			all = append(all, l)
		}
	}
	return all, nil
}

// get returns a namespace's configuration, nil if it has none.
func (c *configs) get(ctx context.Context, namespace string) (*loaded, error) {
	var configMap corev1.ConfigMap
	err := c.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: config.ConfigMapName}, &configMap)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var secret corev1.Secret
	if err := c.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: config.SecretName}, &secret); err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	version := configMap.ResourceVersion + "/" + secret.ResourceVersion
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.loaded[namespace]; l != nil && l.version == version {
		return l, nil
	}
	l := c.load(&configMap, &secret, version)
	c.loaded[namespace] = l
	return l, nil
}

func (c *configs) load(configMap *corev1.ConfigMap, secret *corev1.Secret, version string) *loaded {
	l := &loaded{Config: config.Parse(configMap, secret), version: version, senders: map[string]send.Sender{}, wrong: map[string]error{}}
	l.SelfService = configMap.Namespace != c.own
	for name, service := range l.Services {
		sender, err := send.New(service, c.network, l.SelfService)
		if err != nil {
			l.wrong[name] = err
			l.Problems = append(l.Problems, config.Problem{Key: "service of type " + service.Type, Err: err})
			continue
		}
		l.senders[name] = sender
	}
	for _, p := range l.Problems {
		c.log.Warn("an entry of the configuration is left out", "namespace", configMap.Namespace, "configmap", configMap.Name, "entry", p.Key, "error", p.Err)
	}
	return l
}

// stateNamespace is what the configuration's keys in the annotation begin with.
func (l *loaded) stateNamespace() string {
	if l.SelfService {
		return l.Namespace
	}
	return ""
}

// sender returns what sends to a service.
func (l *loaded) sender(service string) (send.Sender, error) {
	if s, ok := l.senders[service]; ok {
		return s, nil
	}
	if err, ok := l.wrong[service]; ok {
		return nil, fmt.Errorf("service %s: %w", service, err)
	}
	return nil, fmt.Errorf("notification service '%s' is not supported", service)
}
