package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plugin"
	"github.com/sluice-delivery/sluice/internal/telemetry"
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
	metrics.Registry.MustRegister(telemetry.NewPlugins(func() []telemetry.Plugin { return statesOf(p.Plugins) }))
	err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		p.Plugins.Close()
		return nil
	}))
	return errors.Join(err, mgr.AddHealthzCheck(pluginsCheck, checkOf(p.Plugins)), mgr.AddReadyzCheck(pluginsCheck, checkOf(p.Plugins)))
}

// pluginsCheck is the name of the check that says which plugins are ill.
const pluginsCheck = "plugins"

// checkOf fails only when it is asked by its name, as /readyz/plugins: an ill plugin is no reason to restart the controller, nor to send it no requests.
func checkOf(host *plugin.Host) healthz.Checker {
	return func(r *http.Request) error {
		if ill := host.Ill(); len(ill) > 0 && path.Base(r.URL.Path) == pluginsCheck {
			return errors.New(strings.Join(ill, "\n"))
		}
		return nil
	}
}

func statesOf(host *plugin.Host) []telemetry.Plugin {
	var all []telemetry.Plugin
	for _, s := range host.States() {
		all = append(all, telemetry.Plugin{Kind: string(s.Kind), Name: s.Name, Running: s.Running, Starts: s.Starts, Failures: s.Failures})
	}
	return all
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
