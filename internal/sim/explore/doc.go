// Package explore looks for histories in which the engine does harm. A seed decides everything: how the rollout looks, what
// people do to it and when, what breaks, when the controller crashes and how old the objects are that it sees.
//
//	history.go   a history from a seed: play it, calm it down, see that it ends well
//	disorder.go  what people and fate do
//	shell.go     tier two: what goes wrong around the controller's own shell
//	rules.go     what must hold at every instant
//	hands.go     people who lay hands on what is managed, and in hands_rules.go what becomes of that
//	people.go    what people do, which can be written down and done again
//	fate.go      what fate decides, by random numbers or as it was recorded
//	recording.go a history as data: testdata/regressions has those that failed once
//	plugins.go   steps that plugins carry out
//	hostile.go   a tenant in another namespace who attacks, and in hostile_attacks.go with what
//
// and beside these experiment_history.go, experiment_disorder.go and experiment_rules.go for worlds with Experiments, alone and as steps, and
// AnalysisRuns that are measured.
//
// [Play] returns what is wrong with a seed's history, or nil. Equal seeds give equal histories, so a seed is a bug report. It is one until
// something changes that makes histories; TestRecord writes what happened in it down, and that stays.
//
// The capacity rule, precisely. Only the ReplicaSet controller takes away available pods on the engine's account. When it does,
// there must afterwards be at least replicas − maxUnavailable available pods, or as many as before where these were fewer. Three
// things excuse less, since no engine could know better at the time: pods that were lost and had not been reported when the
// engine decided, nor made good since; a larger spec.replicas, or a smaller maxUnavailable, until that has been reached once; and a
// decision made from an older Rollout. The rule for the most pods mirrors it: no pod is added beyond replicas + maxSurge, or beyond
// what the ReplicaSets asked for before a smaller limit was set.
//
// The clock jumps forward only: one that goes back would make available pods unavailable without anything happening to them, which
// no rule here can tell from harm.
//
// What must not be here: the system's clock, random numbers that do not come from the seed.
package explore
