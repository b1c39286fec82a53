// Package traffic is how a share of the traffic is told apart from a share of the pods: what is wanted, as one [Split], and what
// brings it about, as [Router]s.
//
// The engine computes one Split for each reconcile and hands it to every router of the Rollout. A router is a pure function
// from the current objects to the desired objects; it sees no client and no clock. A split is in effect when rendering it
// changes nothing, which is also how drift is found and repaired. The shell receives ordinary guarded writes.
//
// Each router has a package of its own below this one, and passes the suite in conformance by the features it declares. Nothing
// here decides how much traffic goes where: that is the business of internal/plan.
package traffic
