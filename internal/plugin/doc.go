// Package plugin runs other people's programs: metric providers, traffic routers and steps that the administrator lists in the ConfigMap
// argo-rollouts-config. What is said to them is in package api/plugin.
//
//	config.go      the ConfigMap → a list of plugins, each with what is wrong with it
//	fetch.go       a location → a file that may be run, its checksum verified
//	process.go     a file → a process that has shaken hands
//	connection.go  the process' streams; bounds on what it may answer
//	host.go        one process a plugin, begun when it is first needed, and again later each time when it fails
//	call.go        a question with a deadline
//	health.go      which plugins are ill, for probes and metrics
//	lines.go       what plugins print → our log
//
// A plugin that hangs, crashes or lies costs those who ask it an error, and nobody else anything: nothing here is called from a worker of the
// controller, every wait has an end, and a process that breaks its word is killed.
//
// What must not be here: Kubernetes clients (the ConfigMap and Secrets are read through [Settings]), and what answers mean.
package plugin
