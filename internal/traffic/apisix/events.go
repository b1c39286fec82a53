package apisix

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// ReportFailure implements [traffic.FailureReporter].
func (r router) ReportFailure(from, to *unstructured.Unstructured, reason string) (traffic.Event, bool) {
	what, event, object := "updating", v1alpha1.EventApisixRouteUpdateError, to
	switch {
	case from == nil:
		what, event = "create", v1alpha1.EventApisixRouteCreateError
	case to == nil:
		what, event, object = "delete", v1alpha1.EventApisixRouteDeleteError, from
	}
	return traffic.Event{Warning: true, Reason: event, Message: fmt.Sprintf("Error %s apisix route %q: %s", what, object.GetName(), reason)}, true
}
