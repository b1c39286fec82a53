// Package browser drives the dashboard in a real Chromium against the playground. It has tests only: what a person clicks, and what it
// does to the objects.
package browser
