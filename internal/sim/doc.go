// Package sim is a Kubernetes in memory, as far as a Rollout can see one, with a clock of its own. What takes an hour in a cluster
// takes microseconds here, and equal seeds give equal histories.
//
// The engine that runs in it is the controller's own: [Controller] observes the [World], asks plan.Next and lets the World
// apply the plan, under the contracts written in package plan. Around it the World does what a cluster does:
//
//	world.go       the clock, and what happens next
//	store.go       objects of all kinds, one collection for each, with resourceVersions, UIDs and generations
//	server.go      the API server: preconditions, conflicts and refusals, for tier one's loop as for the real controller's shell
//	replicaset.go  the ReplicaSet controller: creates pods, deletes them in the real one's order, reports late
//	pod.go         pods that start, never start, become unready, die
//	service.go, traffic.go  Services, and the routes that routers split
//	workload.go, disruption.go, collect.go  Deployments that are referred to, disruption budgets, garbage collection by owner
//	apply.go       applies a plan as a client of the API server, up to a crash between any two writes
//	controller.go  the loop around the engine: on events, and at Plan.Wake, never by polling
//	experiment.go  Experiments, and the loop around the engine that decides about them
//	adopt.go       a World that begins as a cluster was observed
//	news.go        what watches report of an Experiment
//	analysis.go    AnalysisRuns with a result that the caller sets
//	measure.go     AnalysisRuns, measured by their engine with results that the caller provides
//	past.go        what watches have shown
//	user.go        what users do: a new image, promote, abort, scale
//	flaws.go       faults of the loop, for tests that show that the rules of exploration notice them
//
// Neither objects nor lists of them are ever changed in place: a write replaces the old one. So an observation is a
// handful of pointers, older views cost nothing, what was handed out stays as it was, and a copy of all that is stored is a copy of one struct.
//
// The language of transcripts, in which a test is a story, is package script: programs that play worlds without stories link none of it.
//
// What is modeled: one Rollout with what it names, and what a cluster does to it: quotas, names that are taken, defaults that the API
// server sets. An autoscaler is anything that changes the size: package explore has one that keeps changing its mind, package play one that
// follows a load. docs/reliability.md lists what is not modeled.
//
// What must not be here: the system's clock, goroutines, Kubernetes clients.
package sim
