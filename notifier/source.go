package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/notifier/config"
)

// source is where the commands get the configuration and the Rollout: from files, or else from the cluster.
type source struct {
	*cluster
	configMap, secret string
	in                io.Reader
}

// client connects to the cluster.
func (s *source) client() (client.Client, string, error) {
	to, namespace, err := s.connect()
	if err != nil {
		return nil, "", err
	}
	c, err := client.New(to, client.Options{})
	return c, namespace, err
}

func (s *source) file(name string, into any) error {
	var content []byte
	var err error
	if name == "-" {
		content, err = io.ReadAll(s.in)
	} else {
		content, err = os.ReadFile(name)
	}
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// config reads the configuration. Entries that are wrong are errors here: who runs a command wants to know.
func (s *source) config(ctx context.Context) (*config.Config, error) {
	var configMap corev1.ConfigMap
	if err := s.object(ctx, s.configMap, config.ConfigMapName, &configMap); err != nil {
		return nil, fmt.Errorf("ConfigMap: %w", err)
	}
	var secret corev1.Secret
	if s.secret != ":empty" {
		if err := s.object(ctx, s.secret, config.SecretName, &secret); err != nil && (s.secret != "" || !apierrors.IsNotFound(err)) {
			return nil, fmt.Errorf("secret: %w", err)
		}
		for key, value := range secret.StringData {
			if secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			secret.Data[key] = []byte(value)
		}
	}
	return config.Parse(&configMap, &secret), nil
}

func (s *source) object(ctx context.Context, file, name string, into client.Object) error {
	if file != "" {
		return s.file(file, into)
	}
	c, namespace, err := s.client()
	if err != nil {
		return err
	}
	return c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
}

// rollout reads a Rollout, by its name or from a file. The reader is nil for a file.
func (s *source) rollout(ctx context.Context, name string) (*unstructured.Unstructured, client.Reader, error) {
	rollout := &unstructured.Unstructured{}
	if _, err := os.Stat(name); err == nil || name == "-" {
		if err := s.file(name, &rollout.Object); err != nil {
			return nil, nil, err
		}
		if rollout.GetKind() != v1alpha1.KindRollout {
			return nil, nil, fmt.Errorf("%s is a %s: name a Rollout or a file with one", name, rollout.GetKind())
		}
		return rollout, nil, nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	c, namespace, err := s.client()
	if err != nil {
		return nil, nil, err
	}
	rollout.SetGroupVersionKind(v1alpha1.RolloutGVK)
	return rollout, c, c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, rollout)
}
