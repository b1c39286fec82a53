// Package change has what the engines answer with: the writes to other objects ([Change]), what they ask the shell to look at ([Need]), and
// the [Journal] of a pass: events for the cluster and notes for people. The engines of Rollouts, Experiments and AnalysisRuns share it, and
// so do the shells that carry plans out.
//
// What must not be here: decisions. A change says what to write and which reason it has; that it may be written is for the engines to say.
package change
