// Package cli is the command line: `sluice`, and under the names kubectl-argo-rollouts and kubectl-sluice a plugin of kubectl.
//
//	root.go      the program under its three names, its flags, and how it ends
//	connect.go   kubeconfig flags to a client
//	errors.go    what goes wrong, in one line that says what to do
//	kind.go      what commands are given by name
//	manifest.go  files of objects
//	listing.go   tables of objects, and lines as they change
//	output.go    results for programs: --output
//	patch.go     a command that writes to several objects
//
// and one file for each command. Subpackage act has what commands write, live looks at the cluster and draws; package view says what things look like.
//
// What a command writes is wire format: scripts and access rules that people have depend on which verb goes to
// which resource. Results go to stdout, talk and errors to stderr; every error is one line that begins with "error: ".
//
// What must not be here: decisions about rollouts. A command writes what a user asks for, the controller acts on it.
package cli
