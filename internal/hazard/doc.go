// Package hazard finds what a Rollout may ask for and probably should not: specs that are valid, that the controller carries out, and
// that hurt when they are.
//
//	hazard.go   all of them, in the order of the spec
//	traffic.go  weights that do not fit the pods that carry them
//	pods.go     pods that count too early, and versions that cannot be told apart
//	delay.go    pods that go before traffic does
//
// A hazard is never an error. `sluice lint` shows it as a warning, and so can the simulator and a condition of the Rollout.
//
// The package is pure, and reads the object as it is written: what this version of Sluice cannot carry out may be hazardous too.
package hazard
