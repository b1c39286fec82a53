// Package splunk measures with SignalFlow programs that Splunk Observability Cloud computes:
//
//	splunk.go   what is asked
//	events.go   the stream of events that answers
//
// What must not be here: how conditions judge.
package splunk
