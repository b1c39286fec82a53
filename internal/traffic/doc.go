// Package traffic is how a share of the traffic is told apart from a share of the pods: what is wanted, as one [Split], and what
// brings it about, as [Router]s.
//
// The engine computes one Split a pass and hands it to every router of the Rollout. A router is a pure function from the objects
// as they are to the objects as they should be; it sees no client and no clock. A split is in force when rendering it changes
// nothing, which is also how drift is found and mended. What the engine then asks of the shell are ordinary guarded writes.
//
// Each router has a package of its own below this one, and passes the suite in conformance by the features it declares. Nothing
// here decides how much traffic goes where: that is the business of internal/plan.
package traffic
