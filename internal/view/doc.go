// Package view turns Kubernetes objects into what users see of a Rollout. The command line, the dashboard and the simulator
// show nothing else.
//
//	Objects ──► Of(objects, now) ──► Rollout ──► Text(options)      the whole picture: header, steps, tree
//	                                         └─► Summary()          one line, for logs
//
//	rollout.go   the model, and how it is put together
//	status.go    phase and message, with what a client knows better than the status
//	steps.go     the steps of a canary, the weights, the pause in force
//	revision.go  ReplicaSets by revision, with the part each plays
//	pod.go       what state a pod is in, and why it is not ready
//	text.go      header and steps as text, fitted to a terminal
//	tree.go      the tree below it
//	summary.go   one line that changes only when something happens
//	table.go     columns that are right at any width
//	width.go     how many columns of a terminal a text takes
//
// The package is pure: no client, no clock, no terminal. It reads Rollouts as they are, whichever controller manages them,
// so it also shows specs that this version of Sluice would reject. That is why it does not use spec.Resolve.
package view
