// Package play plays one update of a Rollout in virtual time, to show it before it runs.
//
//	play.go       a Rollout and what it names → what will happen (view.Simulation)
//	ahead.go      a Rollout as it was observed → how it goes on (view.Outlook)
//	scenario.go   what people and fate do meanwhile: "at 5m fail metric error-rate"
//	check.go      whether what a scenario names exists
//	perform.go    runs the update, and carries out the scenario
//	outcome.go    results of measurements: good ones, unless the scenario says otherwise
//	autoscale.go  what a HorizontalPodAutoscaler does about load
//	watch.go      the state after each event, in words for people
//	instant.go    the state after each decision, as objects for programs
//	summary.go    the story in numbers
//	expect.go     what a CI job asserts about it: "duration<20m"
//
// The engines that decide about Rollouts, AnalysisRuns and Experiments are the controller's own. The cluster is package sim's, in which
// pods take as long as the caller says. Only the metric providers are replaced.
//
// What must not be here: the system's clock, files, terminals.
package play
