// Package ambassador splits traffic with a canary Mapping of Ambassador, or Emissary, beside each Mapping that routes to the stable Service.
//
// The Mapping belongs to its author and is never changed. The canary Mapping belongs to the Rollout: a copy that leads to the canary Service, with
// the canary's weight. It stays with the weight 0 between updates: Envoy answers requests with errors for a moment when a cluster goes that
// still has traffic.
package ambassador
