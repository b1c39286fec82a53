package ambassador

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Report implements [traffic.Reporter].
func (r router) Report(from, to *unstructured.Unstructured) []traffic.Event {
	if to == nil || weightIn(from) == weightIn(to) {
		return nil
	}
	return []traffic.Event{{
		Reason: v1alpha1.EventCanaryMappingWeightUpdate, Message: fmt.Sprintf("Set canary mapping weight to %d", weightIn(to)),
	}}
}

// weightIn is the weight of a canary Mapping: none where there is no such Mapping, or none that can be read.
func weightIn(canary *unstructured.Unstructured) int64 {
	if canary == nil {
		return 0
	}
	content, _ := canary.Object["spec"].(map[string]any)
	weight, _ := traffic.Number(content["weight"])
	return weight
}

// ReportFailure implements [traffic.FailureReporter].
func (r router) ReportFailure(from, to *unstructured.Unstructured, reason string) (traffic.Event, bool) {
	event := traffic.Event{Warning: true}
	switch {
	case from == nil:
		event.Reason, event.Message = v1alpha1.EventCanaryMappingCreationError, "Error creating canary mapping: "+reason
	case to == nil:
		event.Reason, event.Message = v1alpha1.EventCanaryMappingCleanupError, fmt.Sprintf("Error deleting canary mapping %q: %s", from.GetName(), reason)
	default:
		event.Reason, event.Message = v1alpha1.EventCanaryMappingUpdateError, fmt.Sprintf("Error updating canary mapping %q: %s", to.GetName(), reason)
	}
	return event, true
}

// Troubles implements [traffic.TroubleReporter].
func (r router) Troubles(have traffic.Objects) (all []traffic.Trouble) {
	for _, m := range r.spec.Mappings {
		base := have[r.ref(m.Name, m.Field).Key()]
		switch {
		case base == nil:
			all = append(all, traffic.Trouble{Problem: r.notFound(m.Name), Event: traffic.Event{
				Warning: true, Reason: v1alpha1.EventAmbassadorMappingNotFound, Message: fmt.Sprintf("Ambassador mapping %q not found", m.Name),
			}})
		case weighs(base):
			all = append(all, traffic.Trouble{Problem: hasWeight(m.Name), Event: traffic.Event{
				Warning: true, Reason: v1alpha1.EventAmbassadorMappingConfigError, Message: fmt.Sprintf("Ambassador mapping %q can not define weight", m.Name),
			}})
		}
	}
	return all
}

func (r router) notFound(name string) string {
	return fmt.Sprintf("Ambassador mapping %q not found in namespace %s: create it, or name one that exists", name, r.owner.Namespace)
}

// weighs reports whether a Mapping has a weight of its own, which that of people must not.
func weighs(base *unstructured.Unstructured) bool {
	content, _ := base.Object["spec"].(map[string]any)
	return content["weight"] != nil
}

func hasWeight(name string) string {
	return fmt.Sprintf("Ambassador mapping %q can not define weight: remove spec.weight from it, the canary Mapping has the weights", name)
}
