package measure

import (
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
)

// Plan is what to do next, in the order in which it is done.
type Plan struct {
	// NeedsArguments: nothing can be decided before the values of arguments have been looked up. The rest is empty then.
	NeedsArguments bool
	// Cancel are metrics whose measurements under way are no longer wanted.
	Cancel []string
	// Stop are measurements to end, Forget those that are kept no longer. Both before the record, so that what is not done now is
	// found and done by the next pass.
	Stop, Forget []Task
	// Record is the whole next status, nil if it does not change.
	Record *Record
	// Measure is begun behind the record, without which nobody would know when the run began, and what a Job is for. Where the run goes
	// on as it did and its measurements leave no traces, the record may follow later: results of several measurements count together.
	Measure []Task
	// Delete is why the run is deleted, empty if it is not.
	Delete string
	// Journal has the events, which are published after the record, the notes, and when to reconcile again. It has no Needs.
	change.Journal
}

// Record is a write of the status, for an AnalysisRun that still is at From's resourceVersion.
type Record struct{ From, To *v1alpha1.AnalysisRun }
