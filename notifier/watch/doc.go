// Package watch decides which messages to send: it follows Rollouts, AnalysisRuns, Experiments and their events, and has the queues of package
// deliver send what someone has subscribed to.
//
//	run.go        the process: caches, election of a leader, probes, metrics
//	configs.go    the configuration, as the cluster has it now
//	subject.go    what a message is about, and the variables of templates
//	rollouts.go   triggers of states: a message each time a condition becomes true
//	missed.go     states that began and ended while no notifier ran
//	events.go     triggers of events: a message for each event
//	message.go    a message, from its template to the record that it was sent
//	record.go     what was sent: annotations, and what the caches do not show yet
//
// What was sent is written down before the destination's next message is sent, so a process that is killed at any moment repeats no more than
// the messages under way. What was not sent is found again: from the state of each Rollout, and from the events of the last hour.
//
// What must not be here: services, templates.
package watch
