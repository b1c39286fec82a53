// Package plan decides what happens next to a Rollout. It is the engine: everything that is hard about a rollout is here, and
// nothing here touches the world.
//
// [Next] takes what was observed and returns a [Plan]: what to create and scale, what to write into the status, what to tell,
// when to look again, and every decision with its reason. It is a pure function: no clock, no client, no logger, no random
// numbers, no state. The controller, the simulator and the tests all call it, and equal inputs give equal plans.
//
// A pass goes through these steps, each in its own file:
//
//	observed.go    sort the ReplicaSets into new, stable and others
//	adopt.go       ReplicaSets of this Rollout's pods that nobody controls
//	revision.go    has the template or the list of steps changed? did a person abort, retry, resume?
//	canary.go      how many pods each version should have now, and the changes that lead there; the numbers are in arithmetic.go
//	steps.go       is the current step complete? then which one is next
//	routed.go      a canary whose traffic is split by routers: weight.go says how fast its weight moves, routed_size.go how many pods
//	               each version has meanwhile and routed_room.go how many there is room for, routing.go what the routers are to carry out
//	               and routed_inforce.go what they do
//	bluegreen.go   the same for the other strategy: two stacks, and a Service that switches between them
//	services.go    which Services are whose, and what they select
//	giveback.go    what the spec names no more: routes first, then Services
//	retire.go      how long a version that lost its part keeps its pods
//	restart.go     pods that are replaced without a new version
//	workload.go    a template, and pods, that another object has
//	metadata.go    labels and annotations for the part that a version plays; affinity.go keeps versions apart
//	analysis.go    analyses begun, awaited and judged; promotion.go and canary_analysis.go say where
//	runs.go        what becomes of their AnalysisRuns
//	experiment.go  the Experiments of steps, and in experiment_traffic.go their share of the traffic
//	forget.go      which old analyses and experiments to forget, and in history.go which ReplicaSets
//	trouble.go     what keeps pods from being ready
//	conditions.go  what the status says: conditions, phase, message
//	record.go      counts, the next status, and the events that its changes are worth
//
// Two habits keep a crash between any two writes harmless. Names of children follow from the template, so doing a thing twice
// is doing it once. And a pass acts on the step that is recorded: where it decides to go on to the next one it records that and
// changes no ReplicaSet, so that nobody can find pods of a step that no status knows of.
//
// What must not be here: reading the clock, Kubernetes clients, logging, anything random; strings meant for one router or one
// command only.
package plan
