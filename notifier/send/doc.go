// Package send sends messages with services: Slack, e-mail and so on.
//
//	send.go      which services there are
//	network.go   where requests may go, how long they may take, and how errors are told apart
//	slack.go, webhook.go, email.go, teams.go
//	             the services that most people use, over our network: an error says whether, and when, to try again
//	library.go   the others, which are notifications-engine's
//	egress.go    the proxy in this process that the library's requests go through
//
// What must not be here: Kubernetes, templates, queues.
package send
