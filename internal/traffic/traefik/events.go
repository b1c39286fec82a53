package traefik

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// ReportFailure implements [traffic.FailureReporter].
func (r router) ReportFailure(_, to *unstructured.Unstructured, reason string) (traffic.Event, bool) {
	if to == nil {
		return traffic.Event{}, false
	}
	return traffic.Event{
		Warning: true, Reason: v1alpha1.EventTraefikServiceUpdateError, Message: fmt.Sprintf("Error updating traefik service %q: %s", to.GetName(), reason),
	}, true
}
