// Package istio splits traffic in Istio's VirtualServices, between hosts or between subsets of a DestinationRule.
//
// In a VirtualService the routes that the spec picks get the weights; managed routes stand before all others, in the order of managedRoutes.
// A DestinationRule gets the hash of each version's pods into the labels of its subsets. What else is in these objects stays as it is, but for
// destinations with weight that are none of the Rollout's, which would take their share of every split.
//
// What the router has put into a VirtualService is noted in an annotation while it is there, so that it can be taken out again when the Rollout
// is gone, or names another object. A VirtualService of another namespace is written only where its owner or the operator allows it, and there
// a host counts by the namespace that it leads to.
package istio
