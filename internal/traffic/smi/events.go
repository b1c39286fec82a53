package smi

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Report implements [traffic.Reporter].
func (r router) Report(from, to *unstructured.Unstructured) []traffic.Event {
	if from != nil || to == nil {
		return nil
	}
	return []traffic.Event{{Reason: v1alpha1.EventTrafficSplitCreated, Message: fmt.Sprintf("TrafficSplit `%s` created", to.GetName())}}
}

// ReportFailure implements [traffic.FailureReporter].
func (r router) ReportFailure(from, to *unstructured.Unstructured, reason string) (traffic.Event, bool) {
	if from != nil || to == nil {
		return traffic.Event{}, false
	}
	return traffic.Event{
		Warning: true, Reason: v1alpha1.EventTrafficSplitNotCreated, Message: fmt.Sprintf("TrafficSplit `%s` failed creation: %s", to.GetName(), reason),
	}, true
}
