// Package experiment decides what happens next to an Experiment: versions that run side by side for a while, apart from the
// serving pods, and are measured.
//
// [Next] works like plan.Next, and uses the same types: a pure function of what was observed, and a plan of guarded writes
// in the order in which they are safe, which may stop after any of them. A reconcile goes through these steps:
//
//	observed.go    what is observed, and which ReplicaSet and Service belong to which template
//	templates.go   pods created, and how each template is doing
//	services.go    a Service for a template's pods, for as long as it has any
//	analyses.go    analyses started once all templates are available, and ended with the Experiment
//	verdict.go     whether the Experiment is over, and how it went
//	retire.go      pods deleted some time after the end
//	record.go      conditions, the next status, and the events that its changes are worth
//
// A reconcile acts on what is recorded: analyses start when the status has the time at which all templates became available,
// and pods are deleted when it has the end. So whatever a crash cuts off, the next reconcile continues with the same values.
//
// What a canary step uses an Experiment for is decided in package plan. This package must not have clocks or clients.
package experiment
