// Command bench measures what rollouts cost: `make bench`.
//
// It starts a playground with an audit log and, for each strategy, a controller with the rights that the install manifests give
// it. N rollouts are created, all are given a new version at once, and then they are left alone. For each of the three phases it
// tells the time that it took, the processor time and memory of the controller's process, and the controller's requests as the
// API server counted them. Then it measures how soon the controller reacts on one rollout, and what thousands of rollouts cost
// that do nothing.
//
// The result goes to standard output as Markdown, and with -into between the marks of a file.
package main
