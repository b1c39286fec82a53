// Package message renders the templates of messages. The blocks of each service are notifications-engine's; the functions are sprig's.
//
//	template.go   a template, and how it is applied to variables
//	counting.go   what a template is rewritten to, so that its work is counted
//	functions.go  what templates may call
//	budget.go     how much a template may do
//
// Templates may come from people who may only write a ConfigMap in their own namespace, so what one does is bounded: each round of a loop,
// each call and each byte is counted before it is done. The count depends on nothing but the template and its variables.
//
// What must not be here: clients, clocks, sending.
package message
