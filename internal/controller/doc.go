// Package controller is the shell around the engine: it observes, asks [plan.Next], carries the plan out and waits.
//
// It decides nothing about rollouts. What it has to get right is the world: what it observed may be old, what it writes may
// conflict, and it may be killed after any write.
//
//	setup.go    one page of wiring: caches, watches, queues, events
//	reconcile.go  the loop for all kinds: observe, decide, carry out, wait
//	rollout.go  what Rollouts put into it; experiment.go and analysisrun.go do the same for Experiments and AnalysisRuns
//	observe.go  objects into plan.Observed, but not before the caches show this controller's own last writes
//	apply.go    a plan into API requests
//	writer.go   what all kinds write with: each write bound to the version that it was decided on
//	workload.go the object that a template comes from
//	services.go Services: found, read live, released; pods.go and analysis.go do the same for pods and AnalysisRuns
//	flights.go  the measurements of AnalysisRuns that are under way; jobs.go the Jobs
//	memory.go   what is remembered of each owner between two passes: expectations.go what was written and not yet seen again
//
// A conflict means that an object has changed: the reconcile ends and the object is requeued. Nothing is ever forced.
//
// This package must not have weights, steps, conditions or phases: nothing that a user of rollouts would call behavior.
package controller
