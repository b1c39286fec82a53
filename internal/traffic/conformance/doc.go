// Package conformance is the one suite that every traffic router passes, by the features that it declares.
//
// A router is tried in a [World]: a map in memory in the tests of the router's own package, and a real API server in
// internal/traffic/e2e, which fills in defaults and drops fields, and so shows whether what is written is what is read again.
//
// [Golden] holds a router against files of objects before and after.
package conformance
