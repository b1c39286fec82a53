package lint

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	pluginapi "github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plugin"
	"github.com/sluice-delivery/sluice/internal/spelling"
)

// checkPlugins looks at the ConfigMaps that list plugins, and at what names plugins where the files have such a ConfigMap.
func (l *linter) checkPlugins() {
	var listed []plugin.Config
	for _, o := range l.objects {
		if m, ok := o.typed.(*corev1.ConfigMap); ok && m.Name == v1alpha1.ConfigMapName {
			listed = append(listed, l.checkPluginList(o, m))
		}
	}
	if len(listed) != 1 {
		return // nothing is known of a cluster's plugins, or of which cluster it is
	}
	for _, o := range l.objects {
		for _, use := range pluginsOf(o) {
			if !listed[0].Lists(use.ID) {
				l.report(MissingObject, o, use.field, "%s is not in %s of the ConfigMap %s in these files%s",
					use.ID, plugin.Keys[use.Kind], v1alpha1.ConfigMapName, meant(use.Name, listed[0].Names(use.Kind), "add it there"))
			}
		}
	}
}

// checkPluginList reports what is wrong with a ConfigMap, entry by entry.
func (l *linter) checkPluginList(o *object, m *corev1.ConfigMap) plugin.Config {
	keys := make([]string, 0, len(plugin.Keys))
	for _, key := range plugin.Keys {
		keys = append(keys, key)
	}
	for _, key := range sortedKeys(m.Data) {
		if near := spelling.Nearest(key, keys); near != "" && near != key {
			l.report(InvalidPlugin, o, "data."+key, "the controller does not read this key; did you mean %q?", near)
		}
	}
	config := plugin.Parse(m.Data)
	for _, p := range config.Problems {
		l.report(InvalidPlugin, o, "data."+p.Field, "%s", p.Text)
	}
	return config
}

// pluginUse is a plugin that a field names.
type pluginUse struct {
	plugin.ID
	field string
}

func pluginsOf(o *object) []pluginUse {
	var uses []pluginUse
	add := func(kind pluginapi.Kind, name, field string) {
		uses = append(uses, pluginUse{plugin.ID{Kind: kind, Name: name}, field})
	}
	metrics := func(all []v1alpha1.Metric) {
		for i := range all {
			for _, name := range sortedKeys(all[i].Provider.Plugin) {
				add(pluginapi.MetricProvider, name, fmt.Sprintf("spec.metrics[%d].provider.plugin.%s", i, name))
			}
		}
	}
	if template := templateSpec(o); template != nil {
		metrics(template.Metrics)
	}
	switch obj := o.typed.(type) {
	case *v1alpha1.AnalysisRun:
		metrics(obj.Spec.Metrics)
	case *v1alpha1.Rollout:
		canary := obj.Spec.Strategy.Canary
		if canary == nil {
			break
		}
		for i, step := range canary.Steps {
			if step.Plugin != nil {
				add(pluginapi.Step, step.Plugin.Name, fmt.Sprintf("spec.strategy.canary.steps[%d].plugin.name", i))
			}
		}
		if canary.TrafficRouting == nil {
			break
		}
		for _, name := range sortedKeys(canary.TrafficRouting.Plugins) {
			if name != v1alpha1.GatewayAPIPluginName { // built in
				add(pluginapi.TrafficRouter, name, "spec.strategy.canary.trafficRouting.plugins."+name)
			}
		}
	}
	return uses
}
