// Package fair keeps one tenant of a shared cluster from holding up the others. A tenant is a namespace.
//
//	shares.go  how much of something limited a tenant may hold: the less is free, the less
//	turns.go   items that wait, served by tenant in turn
//	queue.go   a controller's work queue built from both
//	places.go  places for goroutines of several tenants, by turns
//	gate.go    requests to an API server, which have places
//
// What must not be here: what the items are, and real clocks.
package fair
