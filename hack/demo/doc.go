//go:build unix

// Command demo shows Sluice at work, from nothing to a finished update: `make demo`.
//
//	main.go     how it starts and how it ends
//	story.go    what happens, in order
//	child.go    programs that run meanwhile, and that none of them is left behind
//	prometheus.go, traffic.go  for STRATEGY=analysis: a real Prometheus, and the requests that it counts
//	example.go  what the example says: examples/canary.yaml, or that of another STRATEGY
//
// It runs the programs in bin/ as a user would, with the manifests in config/ and examples/, and only looks on by itself, through
// the same package that `sluice get rollout -w` is made of. So it is also a test of all of these together: whatever fails or hangs
// ends it with a reason and a non-zero exit code.
//
// What must not be here: fixed ports, anything outside the temporary folder, and ways around the access rules that the install
// manifests give the controller.
package main
