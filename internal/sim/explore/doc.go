// Package explore looks for histories in which the engine does harm. A seed decides everything: the rollout, what users
// do to it and when, what breaks, when the controller crashes, and how old the objects are that it sees.
//
//	history.go   a history from a seed: plays it, calms it down, checks that it ends well
//	disorder.go  what users and fate do
//	shell.go     tier two: what goes wrong around the controller's own shell
//	rules.go     what must hold at every instant
//	hands.go     users who edit managed objects; hands_rules.go: what must become of that
//	people.go    what users do, in a form that can be recorded and repeated
//	fate.go      what fate decides, by random numbers or from a recording
//	recording.go a history as data: testdata/regressions has those that failed once
//	plugins.go   steps that plugins carry out
//	hostile.go   a tenant in another namespace who attacks; hostile_attacks.go: the attacks
//
// The files experiment_history.go, experiment_disorder.go and experiment_rules.go do the same for worlds with Experiments, alone and as
// steps, and with AnalysisRuns that are measured.
//
// [Play] returns what is wrong with a seed's history, or nil. Equal seeds give equal histories, so a seed is a bug report. It stops being
// one when the code that makes histories changes; TestRecord writes down what happened in a history, and that recording stays valid.
//
// The capacity rule, precisely. Only the ReplicaSet controller deletes available pods on the engine's behalf. When it does,
// there must afterwards be at least replicas − maxUnavailable available pods, or as many as before if there were fewer. Three
// things excuse fewer, since no engine could know better at the time: pods that were lost, not reported when the
// engine decided, and not replaced since; a larger spec.replicas, or a smaller maxUnavailable, until that has been reached once; and a
// decision made from an older Rollout. The rule for the most pods mirrors it: no pod is added beyond replicas + maxSurge, or beyond
// what the ReplicaSets asked for before a smaller limit was set.
//
// The clock jumps forward only: a clock that goes back would make available pods unavailable although nothing happens to them, which
// no rule here can distinguish from harm.
//
// What must not be here: the system's clock, random numbers that do not come from the seed.
package explore
