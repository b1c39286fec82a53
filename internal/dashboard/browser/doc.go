// Package browser drives the dashboard in a real Chromium against the playground: what a person clicks, and what it does to the objects. It is
// for tests only; package login's use what is in chromium.go, too.
package browser
