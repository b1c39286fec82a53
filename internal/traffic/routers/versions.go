package routers

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-delivery/sluice/internal/traffic/ambassador"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
	"github.com/sluice-delivery/sluice/internal/traffic/istio"
	"github.com/sluice-delivery/sluice/internal/traffic/smi"
)

// Versions are those in which a cluster may have a kind that is asked for in one of them, the best first. Objects of a kind say the same in all
// of them, but for what [Form] changes.
func Versions(gvk schema.GroupVersionKind) []string {
	switch gvk.GroupKind() {
	case istio.VirtualService.GroupKind(), istio.DestinationRule.GroupKind():
		return istio.Versions()
	case smi.GVK.GroupKind():
		return smi.Versions()
	case ambassador.GVK.GroupKind():
		return ambassador.Versions()
	case gatewayapi.GVK(gvk.Kind).GroupKind():
		return gatewayapi.Versions(gvk.Kind)
	}
	return []string{gvk.Version}
}

// Form returns a rendered object as one writes it in a version.
func Form(o *unstructured.Unstructured, version string) *unstructured.Unstructured {
	if o.GroupVersionKind().GroupKind() == smi.GVK.GroupKind() {
		return smi.Form(o, version)
	}
	return o
}

// VersionFlags are the kinds whose version the controller's flags choose, by the flag's name.
func VersionFlags() map[string][]schema.GroupVersionKind {
	return map[string][]schema.GroupVersionKind{
		"istio-api-version":         {istio.VirtualService, istio.DestinationRule},
		"ambassador-api-version":    {ambassador.GVK},
		"traffic-split-api-version": {smi.GVK},
	}
}
