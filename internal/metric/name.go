package metric

import "github.com/sluice-delivery/sluice/api/v1alpha1"

// NameOf is the name of the provider that a metric asks for, as its field is called; for a plugin the plugin's own. Empty for none.
func NameOf(p v1alpha1.MetricProvider) string {
	for _, name := range p.Names() {
		return name
	}
	return ""
}
