// Package playtest runs tests against a real Kubernetes control plane.
//
// A test binary starts one playground, in [Main]; each test takes a namespace of its own in it, with [New], and in that namespace
// a controller of its own, a real process with the identity and the rights that the install manifests give it. When the test
// fails, the controller's log is shown.
//
//	func TestMain(m *testing.M) { playtest.Main(m) }
//
//	func TestCanary(t *testing.T) {
//		ns := playtest.New(t)
//		ns.StartController()
//		ns.Apply("testdata/canary.yaml")
//		ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
//	}
//
// What not all tests need is named there: playtest.Main(m, playtest.WithGatewayAPI).
//
// Programs are taken from $SLUICE_BIN; without it `make build` makes them first, so that `go test` alone is enough.
//
// Tests wait on watches, with a bound that only a hang reaches. What must not be here: sleeps, and anything that knows how the
// controller works inside.
package playtest
