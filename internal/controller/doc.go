// Package controller is the shell around the engine: it observes, asks [plan.Next], carries the plan out and waits.
//
// It decides nothing about rollouts. What it has to get right is the world: what it observed may be old, what it writes may
// conflict, and it may be killed after any write.
//
//	setup.go    one page of wiring: caches, watches, queues, events
//	rollout.go  the loop: observe, plan, apply
//	observe.go  objects into plan.Observed, but not before the caches show this controller's own last writes
//	apply.go    a plan into API requests
//	writer.go   what that shares with experiment.go, the same loop for Experiments: writes bound to the version that they were decided on
//	workload.go the object that a template comes from
//	services.go Services: found, read live, released; pods.go and analysis.go do the same for pods and AnalysisRuns
//	analysisrun.go  the same loop for AnalysisRuns, around measure.Next; flights.go has the measurements under way, jobs.go the Jobs
//	memory.go   what is remembered of each owner between two passes: expectations.go what was written and not yet seen again
//
// A conflict means that the world has moved on: the pass ends and the next one looks again. Nothing is ever forced.
//
// What must not be here: weights, steps, conditions, phases: anything that a user of rollouts would call behaviour.
package controller
