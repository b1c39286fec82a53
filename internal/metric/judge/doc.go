// Package judge compares what was measured of a canary with what was measured of a baseline at the same time.
//
//	judge.go   one signal: do the two samples differ, by how much, and is that bad?
//	score.go   all signals: a score from 0 to 100
//
// The test is Mann and Whitney's U, from github.com/aclements/go-moremath: it is exact for small samples, also with ties, and benchstat
// depends on it. Gonum has no such test.
//
// What must not be here: the API's types, queries, clocks. [simulation_test.go] measures how often the judge is wrong.
package judge
