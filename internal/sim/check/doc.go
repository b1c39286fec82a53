// Package check searches small worlds to their end: every order of every write, delivery, crash and move that a world allows. Random
// histories (package explore) find what happens once in ten thousand times; here nothing is left to luck, as long as the world is small.
//
//	worlds.go   the worlds: what is in each, what may happen there, and how often
//	state.go    a state, and what may happen next in it
//	search.go   every state once, the nearest first, so that a counterexample is the shortest there is
//	liveness.go what the whole graph shows: no cycle of writes, and rest only where the update is Healthy or waits for a user
//	story.go    a counterexample as a person reads it
//
// It runs the real engine in the loop of package sim, and checks each state against the rules of package explore.
package check
