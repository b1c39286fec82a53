// Package experiment decides what happens next to an Experiment: versions that run beside each other for a while, apart from what
// serves, and are measured.
//
// [Next] is made as plan.Next is, and speaks its language: a pure function of what was observed, and a plan of guarded writes in the
// order in which they are safe, which may be cut short after any of them. A pass goes through these steps:
//
//	observed.go    what is looked at, and which ReplicaSet and Service belong to which template
//	templates.go   pods brought up, and how each template is doing
//	services.go    a Service for a template's pods, for as long as it has any
//	analyses.go    analyses begun once all templates are available, and ended with the Experiment
//	verdict.go     whether the Experiment is over, and how it went
//	retire.go      pods taken away some time after the end
//	record.go      conditions, the next status, and the events that its changes are worth
//
// A pass acts on what is recorded: analyses begin when the status has the moment at which all templates were available, and pods go
// when it has the end. So whatever a crash cuts off, the next pass goes on with the same values.
//
// What an Experiment is made for by a step of a canary is the business of package plan. What must not be here: clocks, clients.
package experiment
