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
//	pod.go         pods that start, never start, turn unready, die
//	service.go, traffic.go  Services, and the routes that routers split
//	workload.go, disruption.go, collect.go  Deployments that are referred to, disruption budgets, garbage collection by owner
//	apply.go       carries out a plan as a client of the API server, up to a crash between any two writes
//	controller.go  the loop around the engine: on events, and at Plan.Wake, never by polling
//	experiment.go  Experiments, and the loop around the engine that decides about them
//	news.go        what watches tell of an Experiment
//	analysis.go    AnalysisRuns that go as one says
//	measure.go     AnalysisRuns, measured by their engine with outcomes that one is asked for
//	past.go        what watches have shown
//	user.go        what people do: a new image, promote, abort, scale
//	flaws.go       faults of the loop, for tests that the rules of exploration bite
//	script.go      the language of transcripts, in which a test is a story
//
// Neither objects nor lists of them are ever changed in place: a write puts a new one in the old one's place. So an observation is a
// handful of pointers, older views cost nothing, what was handed out stays as it was, and a copy of all that is stored is a copy of one struct.
//
// What is modelled: one Rollout with what it names, and what a cluster does to it: quotas, names that are taken, defaults that the API
// server fills in. Autoscalers are whoever changes the size: package explore has one that cannot make up its mind, package play one that
// follows a load. What is not modelled stands in docs/reliability.md.
//
// What must not be here: the system's clock, goroutines, Kubernetes clients.
package sim
