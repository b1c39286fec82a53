// Package explain says what a Rollout waits for, why, what happens next and when, by running the engine on what was seen of it.
//
//	Of(observed, look) ──► Explanation ──► Text()
//
// Nothing is written anywhere. What happens next is asked of the engine as well: it is shown the world as it will be when the time has
// come that it waits for, when the pods are available, or when somebody promotes, and its decisions are told.
//
//	explain.go  the questions
//	ahead.go    the world as a plan leaves it, without a cluster
//	text.go     the answers in sentences
//
// The engine is Sluice's. Where another controller looks after the Rollout it may decide otherwise; what is seen is right all the same.
//
// What must not be here: clients, clocks, and rules about rollouts of its own.
package explain
