// Package later tries traffic routers on a cluster that does not know their kinds when the controller starts.
package later
