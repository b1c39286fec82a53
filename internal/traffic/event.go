package traffic

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/spec"
)

// Event is what a router reports in an event of its own, beside those that all routers have in common. The reason is API.
type Event struct {
	Warning         bool
	Reason, Message string
}

// Reporter is a [Router] with events for what its writes change. A write that changes nothing of the kind that an event reports has none.
type Reporter interface {
	// Report returns the events of a write to an object of the Rollout. Without from the object was created, without to deleted.
	Report(from, to *unstructured.Unstructured) []Event
}

// FailureReporter is a [Router] with events for writes that the API server rejects.
type FailureReporter interface {
	// ReportFailure returns the event of such a write, and false if there is none for its kind. Reason is what the API server said.
	ReportFailure(from, to *unstructured.Unstructured, reason string) (Event, bool)
}

// TroubleReporter is a [Router] with events for what is wrong with the objects that it needs.
type TroubleReporter interface {
	Troubles(have Objects) []Trouble
}

// Trouble is a problem that has an event of its own.
type Trouble struct {
	Event
	// Problem is the text by which [Router.Render] reports it.
	Problem string
}

// MissingObjects are those of a kind that a spec names and that do not exist.
func MissingObjects(refs []Ref, kind string, have Objects, event func(name string) Event) []Trouble {
	var all []Trouble
	for _, ref := range refs {
		if ref.Kind == kind && ref.Field != "" && have[ref.Key()] == nil {
			all = append(all, Trouble{event(ref.Name), spec.MissingObject(ref.Field, ref.Kind, ref.Name, ref.Namespace).Text})
		}
	}
	return all
}
