package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/internal/metric"
)

// readSecret reads a Secret with credentials that a metric names, by its name and nothing else. An empty namespace is the controller's own.
func (p Deps) readSecret(ctx context.Context, namespace, name string) (map[string]string, error) {
	where := "the namespace of the AnalysisRun"
	if namespace == "" {
		namespace, where = p.OwnNamespace, "the namespace of the controller"
	}
	if namespace == "" {
		return nil, fmt.Errorf("Secret %q cannot be read, since the controller does not know its namespace: set $POD_NAMESPACE", name) //nolint:staticcheck // a kind
	}
	var secret corev1.Secret
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("Secret %q %w: create it in %s, or name another", name, metric.ErrNoSecret, where) //nolint:staticcheck // a kind
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("Secret %q must not be read: give the controller the right to get it in %s", name, where) //nolint:staticcheck // a kind
	case err != nil:
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	data := make(map[string]string, len(secret.Data))
	for key, value := range secret.Data {
		data[key] = string(value)
	}
	return data, nil
}
