// Package gatewayapi splits traffic in routes of the Kubernetes Gateway API.
//
// Three things in a route are the router's: the weights of the backendRefs that name the Rollout's Services, in every rule that
// names the stable one; the rules of managed routes, which stand before all others; and a label while an update is in progress.
// Everything else is other people's, and stays to the letter: it is why routes are read and written as the maps that they are
// and not as types, which would drop what a newer release of the Gateway API brings.
//
// What was put into a route beyond weights must be found again when it is to go. Rules of managed routes are known by their names,
// which begin with the Rollout's; releases before 1.4 drop the names of rules, so an annotation on the route notes the rules too, and
// the backendRefs that were added. It is there only while there is something to note. Several Rollouts may share a route.
//
// All four kinds are addressed as version v1, which serves HTTPRoute and GRPCRoute in every supported release, TLSRoute since 1.5 and
// TCPRoute since 1.6; the standard channel serves no other version of these two.
package gatewayapi
