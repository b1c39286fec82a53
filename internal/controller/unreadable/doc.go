// Package unreadable has the tests of the controller in a cluster that stores objects which do not fit the API, as one does that had
// other CRDs once: each such object costs itself only. It has a playground of its own, whose CRDs have no schema.
package unreadable
