// Package script is the language of the transcripts: lines that read like what a person would say run a [sim.World], and what happens is reported in
// lines that a person can read.
//
//	script.go      the verbs, and what a line does
//	fields.go, experiment.go, analysis.go, service.go, workload.go, podobject.go  fields and objects that lines set
//	traffic.go     routers and their routes
//	stepplugin.go  what step plugins answer
//	disruption.go, disorder.go  restarts and budgets; crashes, stale views and deaf watches
//	hands.go       one step of anyone in the cluster at a time, for the search of small worlds
//	teller.go      reports what was decided, what is waited for, and what the status says
//
// Examples are in internal/plan/testdata. Only tests and developers' programs import this package.
package script
