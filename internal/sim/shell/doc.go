// Package shell plays the controller's own shell, package controller, in a World: its reconcilers, its writer, its event handlers and
// its indices are the ones that run in a cluster, and so are the patches that it sends.
//
//	shell.go     the loop: which process leads, what is due next, crashes and hand-overs
//	process.go   one process of the controller: its reconcilers, and what it remembers
//	work.go      one reconcile, and who is notified of it
//	recorder.go  events: what is recorded, and the clock by which it is published
//	errand.go    what outlives a reconcile: measurements, asynchronous writes, and the provider that is queried
//	queue.go     the queue of a reconciler
//	informer.go  its caches: each kind sees changes with its own delay, twice, or not until it lists again
//	reader.go    reads, from caches and from the API server
//	client.go    writes: merge patches, preconditions, timeouts whose write was done or not
//	spent.go     what a reconcile accesses, and what it spends
//	weather.go   how much goes wrong
//
// A reconcile is synchronous: a reconciler does not wait, and what it starts that outlives it is a coroutine. Everything that has to do
// with time is in the World, and everything that is left to chance comes from one source of random numbers, so equal seeds give equal
// histories.
//
// controller-runtime's fake client would be a second store next to the World's, and is not faithful enough: it counts no generations, sets
// no UIDs, ignores UIDs in the preconditions of a deletion, and has no caches that could be late.
//
// What must not be here: the system's clock, goroutines, rules about what is right (package explore).
package shell
