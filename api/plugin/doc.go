// Package plugin is what plugins and the controller say to each other, and what a plugin needs to be served: [ServeStep], [ServeMetric] and
// [ServeRouter]. Binaries that were built for Argo Rollouts speak the same protocol.
//
// The protocol is net/rpc with gob over a connection of github.com/hashicorp/go-plugin. Gob pairs fields by their Go names at each level, skips
// those that only one side has, and does not send zero values. So the names and kinds of fields here, and in package v1alpha1, are wire format.
package plugin
