package plan

import (
	"time"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/status"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// Plan is the desired state of the cluster, in the order in which it is safe to apply. If the process stops after any write and plans
// again, it reaches the same end.
type Plan struct {
	// Grow creates ReplicaSets and scales them up. First: more pods never hurt.
	Grow []change.Change
	// Route points Services at versions, and then splits the traffic between the Services. After Grow, and only to pods that were
	// observed able to carry what comes.
	Route []change.Change
	// Judge ends AnalysisRuns and Experiments, and then begins others. After Route, so that what is measured is what serves.
	Judge []change.Change
	// Shrink scales ReplicaSets down and deletes them. Last of all writes to other objects, and only of what the routing that was
	// observed before this pass does not use.
	Shrink []change.Change
	// Record is what to write into the Rollout itself, after all the above succeeded. Nil when nothing is to be written.
	Record *status.Record
	// Events are published after the record. Each one reports a change, so a plan that changes nothing has none.
	Events []change.Event
	// Calls are what step plugins are to be asked, behind the record: until the answer is among what is observed, each plan has it. Heard is how
	// many of the answers that were observed are of no use any more once this plan is carried out.
	Calls []change.StepCall
	Heard int
	// Label changes labels and annotations of running pods. After the record, which does not depend on them: a pod that the API
	// server will not let be changed must not hold anything up. They may fail one by one; a later pass sees what is missing.
	Label []change.Change
	// Wake is when to look again if nothing happens first. Zero: there is nothing to wait for.
	Wake time.Time
	// Needs is what must be looked at before more can be decided. If there is any the plan is not to be carried out: the shell
	// looks, adds what it saw and asks again in the same pass.
	Needs []change.Need
	// Notes are the decisions with their reasons, in words for a user, in the order in which they were taken.
	Notes []change.Note
}

// Writes reports whether the plan asks for any write at all.
func (p Plan) Writes() bool {
	return len(p.Grow)+len(p.Route)+len(p.Judge)+len(p.Shrink)+len(p.Label) > 0 || p.Record != nil
}

// Observed is all that a decision may depend on.
type Observed = world.Observed

// Record is what a plan writes into the Rollout.
type Record = status.Record
