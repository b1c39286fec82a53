// Command mutants measures how much of the engine the fast tests hold: it changes the engine in one place, runs the tests, and
// reports each change that no test noticed.
//
//	mutate.go      which single changes there are: each is a mutant
//	load.go        the packages, their types, and which tests reach them
//	run.go         one mutant against the tests, in an overlay: the tree is not touched
//	cover.go       which tests execute its place: no others run
//	stages.go      which tests, the cheapest first: those of the engines, or for routers their own and the suite of all routers
//	equivalent.go  mutants that are known to change nothing, each with its reason
//	report.go      what survived
//
// A sample is drawn by seed from all mutants that compile. A survivor gets a test, or an entry in equivalent.txt:
//
//	make mutants N=300 SEED=1 BUDGET=2h
//	make mutants N=200 SEED=4001 BUDGET=40m MUTATED=./internal/traffic/...
package main
