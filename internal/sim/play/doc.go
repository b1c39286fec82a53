// Package play plays one update of a Rollout in virtual time, for whoever wants to see it before it runs.
//
//	play.go      a Rollout and what it names → what will happen (view.Simulation)
//	scenario.go  what people and fate do meanwhile: "at 5m fail metric error-rate"
//	verdict.go   how an AnalysisRun will end when its metrics are good, or fail from a time on
//	expect.go    what a CI job wants to be true of it: "duration<20m"
//
// The engine that decides is the controller's own. The cluster is package sim's, in which pods take the time that one is told.
// Metrics are not measured: they are good unless the scenario says otherwise, and what they would cost in time is computed.
//
// What must not be here: the system's clock, files, terminals.
package play
