package nginx

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Report implements [traffic.Reporter].
func (r router) Report(from, to *unstructured.Unstructured) []traffic.Event {
	if to == nil {
		return nil
	}
	is := to.GetAnnotations()
	key := r.spec.Prefix + "/canary-weight"
	if from == nil {
		return []traffic.Event{{
			Reason: v1alpha1.EventCreatingCanaryIngress, Message: fmt.Sprintf("Creating Ingress `%s` with desiredWeight '%s'", to.GetName(), is[key]),
		}}
	}
	if was := from.GetAnnotations(); was[key] == is[key] && was[key+"-total"] == is[key+"-total"] {
		return nil
	}
	return []traffic.Event{{
		Reason: v1alpha1.EventPatchingCanaryIngress, Message: fmt.Sprintf("Updating Ingress `%s` to desiredWeight '%s'", to.GetName(), is[key]),
	}}
}
