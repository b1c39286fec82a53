//go:build race

package story

// Under the race detector everything takes ten times as long, and there is nothing for it to find in a pure function: fewer
// moments are tried.
const fewer = 10
