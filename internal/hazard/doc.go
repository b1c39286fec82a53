// Package hazard finds best-practice violations in Rollouts: specs that are valid and that the controller carries out, but
// that probably cause problems.
//
//	hazard.go   all of them, in the order of the spec
//	traffic.go  weights that do not fit the pods that carry them
//	pods.go     pods that count too early, and versions that cannot be told apart
//	delay.go    pods that go before traffic does
//
// A hazard is never an error. `sluice lint` shows it as a warning, and so can the simulator and a condition of the Rollout.
//
// The package is pure, and reads the object as written: fields that this version of Sluice does not support may be hazardous
// too.
package hazard
