package live

import (
	"context"
	"fmt"
	"maps"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Secret reads the values of a Secret.
func (c Client) Secret(ctx context.Context, namespace, name string) (map[string]string, error) {
	if c.Interface == nil {
		return nil, fmt.Errorf("Secret %q cannot be read without a cluster: set --kubeconfig or --context", name)
	}
	u, err := c.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	secret, err := typed[corev1.Secret](u)
	if err != nil {
		return nil, err
	}
	return asTexts(secret.Data), nil
}

// ConfigMap reads the values of a ConfigMap.
func (c Client) ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error) {
	if c.Interface == nil {
		return nil, fmt.Errorf("ConfigMap %q cannot be read without a cluster: set --kubeconfig or --context", name)
	}
	u, err := c.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	settings, err := typed[corev1.ConfigMap](u)
	if err != nil {
		return nil, err
	}
	values := asTexts(settings.BinaryData)
	maps.Copy(values, settings.Data)
	return values, nil
}

func asTexts(data map[string][]byte) map[string]string {
	out := make(map[string]string, len(data))
	for key, value := range data {
		out[key] = string(value)
	}
	return out
}

// Env reads a variable of the environment.
func Env(name string) string { return os.Getenv(name) }
