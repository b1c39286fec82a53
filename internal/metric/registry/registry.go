// Package registry is the list of the providers that there are.
package registry

import (
	"maps"
	"slices"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/web"
)

// Registry has the providers by the names of their fields in a metric.
type Registry map[string]metric.Provider

// New returns all providers.
func New() Registry {
	return Registry{
		"web": web.Provider{},
	}
}

// Names are what there is.
func (r Registry) Names() []string { return slices.Sorted(maps.Keys(r)) }
