// Package trace reports each update as an OpenTelemetry trace.
//
//	update web                          from the new template to promoted, aborted or superseded
//	├── pass                            a pass that wrote, with its decisions as events
//	│   └── POST replicasets            each of its writes
//	├── step 1: setWeight
//	│   ├── pass …
//	│   └── wait: pods                  what the update waited for between passes
//	└── step 2: pause
//	    └── wait: CanaryPauseStep
//
// Where an update stands is read from the Rollout ([At]), before and after each pass; [Updates] tells the difference as spans. A
// controller that is killed takes no trace with it: the IDs of a trace, its root and its steps follow from what the status
// records (the Rollout's UID, the version's hash, the second in which the update began), so the next controller goes on with the
// same trace, and each span is told once, by the one that sees its end. What it cannot know is when a step or a wait began: such a
// span begins when it was first seen, a pause when the status says, and has the attribute sluice.resumed.
//
// What must not be here: anything that decides, and anything that a pass waits for. Without an endpoint there are no [Updates], and
// their methods on nil do nothing.
package trace
