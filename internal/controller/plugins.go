package controller

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plugin"
)

// defaultNamespace is where a controller expects its ConfigMap that does not know its namespace.
const defaultNamespace = "argo-rollouts"

// addPlugins has plugins run as they are needed, and end with the manager.
func addPlugins(ctx context.Context, mgr manager.Manager, o Options, p *Deps) error {
	namespace := cmp.Or(p.OwnNamespace, defaultNamespace)
	live := p.Live
	p.Plugins = plugin.NewHost(ctx, plugin.Settings{
		Clock: p.Clock, Log: p.Log, Env: o.Env, Dir: cmp.Or(o.PluginDir, "plugin-bin"),
		ReadConfig: func(ctx context.Context) (map[string]string, error) { return readPlugins(ctx, live, namespace) },
		ReadSecret: func(ctx context.Context, name string) (map[string]string, error) {
			return p.readSecret(ctx, namespace, name)
		},
	})
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		p.Plugins.Close()
		return nil
	}))
}

// readPlugins reads the list of the plugins. Without the ConfigMap there are none.
func readPlugins(ctx context.Context, live client.Reader, namespace string) (map[string]string, error) {
	var settings corev1.ConfigMap
	err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1alpha1.ConfigMapName}, &settings)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read ConfigMap %s/%s: %w", namespace, v1alpha1.ConfigMapName, err)
	}
	return settings.Data, nil
}
