package metric

import "github.com/sluice-delivery/sluice/api/v1alpha1"

// NameOf is the name of the provider that a metric asks for, as its field is called. Empty for none.
func NameOf(p v1alpha1.MetricProvider) string {
	if len(p.Plugin) > 0 {
		return "plugin"
	}
	for _, name := range p.Names() {
		return name
	}
	return ""
}
