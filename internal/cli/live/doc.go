// Package live looks at a Rollout in a cluster, once or for as long as one likes, and shows it.
//
//	Client.Objects ─────────────────► view.Of ──► Text          once
//	Client.Follow ──► chan Sight ──► Screen.Show                as it changes
//
// Client.Observe reads what the engine's decisions depend on, for package explain.
//
// Follow is driven by watches; nothing is polled. A Screen is a terminal, on which one picture is drawn over and over, or a pipe,
// into which the picture goes once and then a line for each thing that happens: what `kubectl get -w` does.
//
// What must not be here: writing to the cluster, and any decision what a thing should look like, which is view's.
package live
