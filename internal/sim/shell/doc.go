// Package shell plays the controller's own shell, package controller, in a World: its reconcilers, its writer, its handlers of events and
// its indices are the very ones that run in a cluster, and so are the patches that it sends.
//
//	shell.go     the loop: which process leads, what is due next, crashes and hand-overs
//	process.go   one process of the controller: its reconcilers, and what it remembers
//	work.go      one pass of one of them, and who is told of it
//	recorder.go  events: what is told, and the clock by which it is published
//	errand.go    what outlives a pass: measurements, and writes that nobody waits for; and the provider that is asked
//	queue.go     the queue of a reconciler
//	informer.go  its caches: each kind hears of changes in a time of its own, twice, or not at all until it lists anew
//	reader.go    reads, from caches and from the API server
//	client.go    writes: merge patches, preconditions, time-outs whose write was done or not
//	spent.go     what a pass reaches for, and what it spends
//	weather.go   how much goes wrong
//
// A pass is synchronous: a reconciler does not wait, and what it begins that outlives its pass is a coroutine. Everything that has to do
// with time is in the World, and everything that is left to chance comes from one source of random numbers, so equal seeds give equal
// histories.
//
// controller-runtime's fake client would be a second store beside the World's, and is not faithful enough: it counts no generations, gives
// no UIDs, heeds no UID in the preconditions of a deletion, and has no caches that could be late.
//
// What must not be here: the system's clock, goroutines, rules about what is right (package explore).
package shell
