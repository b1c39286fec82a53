// Package play plays one update of a Rollout in virtual time, for whoever wants to see it before it runs.
//
//	play.go       a Rollout and what it names → what will happen (view.Simulation)
//	scenario.go   what people and fate do meanwhile: "at 5m fail metric error-rate"
//	check.go      whether what a scenario speaks of is there
//	perform.go    the update runs, and what the scenario has happens to it
//	outcome.go    what measurements come to: good ones, unless the scenario says otherwise
//	autoscale.go  what a HorizontalPodAutoscaler does about load
//	watch.go      how things are after each thing that happens, in words for people
//	instant.go    how things are after each decision, as objects for programs
//	summary.go    the story in numbers
//	expect.go     what a CI job wants to be true of it: "duration<20m"
//
// The engines that decide about Rollouts, AnalysisRuns and Experiments are the controller's own. The cluster is package sim's, in which
// pods take the time that one is told. Only the providers of metrics are replaced.
//
// What must not be here: the system's clock, files, terminals.
package play
