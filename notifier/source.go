package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/notifier/config"
)

// source is where the commands get the configuration and the Rollout: from files, or else from the cluster.
type source struct {
	*cluster
	configMap, secret, home string
	in                      io.Reader
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

// manifest reads an object with whole numbers as the API has them.
func (s *source) manifest(name string, into *unstructured.Unstructured) error {
	var object map[string]any
	if err := s.file(name, &object); err != nil {
		return err
	}
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(text, &into.Object)
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
	namespaces := []string{namespace, standardNamespace}
	if s.home != "" {
		namespaces = []string{s.home}
	}
	for _, in := range namespaces {
		if err = c.Get(ctx, client.ObjectKey{Namespace: in, Name: name}, into); err == nil {
			s.home = in // the Secret must be from there, too
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	return fmt.Errorf("%w, in namespace %s: name the one with --config-namespace, or a file with --config-map", err, strings.Join(namespaces, " and "))
}

// standardNamespace is where the controller and its notifier usually are.
const standardNamespace = "argo-rollouts"

// rollout reads a Rollout, by its name or from a file. The reader is nil for a file.
func (s *source) rollout(ctx context.Context, name string) (*unstructured.Unstructured, client.Reader, error) {
	rollout := &unstructured.Unstructured{}
	if _, err := os.Stat(name); err == nil || name == "-" {
		if err := s.manifest(name, rollout); err != nil {
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
