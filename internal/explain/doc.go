// Package explain says what a Rollout waits for, why, what happens next and when, by running the engine on what was
// observed.
//
//	Of(observed, look) ──► Explanation ──► Text()
//
// Nothing is written to the cluster. What happens next is computed by the engine as well: it gets the cluster as it will be
// after the time it waits for, when the pods are available, or after a user promotes, and its decisions are reported.
//
//	explain.go  the questions
//	ahead.go    the world as a plan leaves it, without a cluster
//	text.go     the answers in sentences
//
// The engine is Sluice's. If another controller manages the Rollout, it may decide differently; what was observed is correct
// either way.
//
// This package must not have clients, clocks, or its own rules about rollouts.
package explain
