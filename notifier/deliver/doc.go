// Package deliver sends messages: a queue for each destination, so that one that is down delays nobody else.
//
//	Add ──► line of a destination ──► attempt ──► Delivered
//	             ▲                       │
//	             └── back-off, Retry-After ──► deadline: Dropped
//
// The messages of a destination are sent one after the other, those of several namespaces in turn. How many are sent at once is limited,
// and so is a namespace's part of it, and what a namespace may have waiting.
//
// What must not be here: Kubernetes, templates, services.
package deliver
