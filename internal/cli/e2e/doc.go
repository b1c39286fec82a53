// Package e2e drives the built program against the playground, under the name by which people's scripts call it: what a person
// does with an update, from the first look to the last promotion. It has tests only.
package e2e
