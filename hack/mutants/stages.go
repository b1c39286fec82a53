package main

import (
	"slices"
	"strings"
)

// stage is a part of the tests. A mutant that survives one goes on to the next.
type stage struct {
	name     string
	patterns []string
	args     []string
}

// engines are the packages whose mutants are made where none are named.
var engines = []string{"./internal/plan/...", "./internal/experiment/...", "./internal/analysis/...", "./internal/change/..."}

// own is the one stage for mutants of the routers, which are no part of an engine: the tests of their own packages, the suite of all routers with its
// faults among them.
func own(patterns []string) []stage {
	return []stage{{"own tests", append(slices.Clone(patterns), "./internal/traffic/conformance/..."), nil}}
}

// areRouters reports whether only packages of routers are to be mutated.
func areRouters(patterns []string) bool {
	return len(patterns) > 0 && !slices.ContainsFunc(patterns, func(p string) bool { return !strings.HasPrefix(p, "./internal/traffic/") })
}

// stages are the fast tests, the cheapest first: the tests of the engines without disturbed transcripts; about 2,000 seeded histories of tier one, whose
// decisions are recorded; the explorer's regressions; the smallest worlds, searched to their end; and the transcripts with crashes at some of their
// writes and with stale views. The disturbed transcripts, all of which take as long as the other stages together, kill almost nothing that these let live.
var stages = []stage{
	{"tests", engines, []string{"-test.skip=Anywhere$"}},
	{"histories", []string{"./internal/sim/explore"}, []string{"-test.run=^TestExplore(Routed|Hands|HandsRouted|Experiments|Plugins|PluginsRouted)?$", "-seeds=800", "-brief"}},
	{"regressions", []string{"./internal/sim/explore"}, []string{"-test.run=^TestRegressions$", "-brief"}},
	{"small worlds", []string{"./internal/sim/check"}, []string{"-test.run=^TestSmallWorlds$"}},
	{"disturbed transcripts", []string{"./internal/plan", "./internal/experiment"}, []string{"-test.run=Anywhere$", "-crash-every=4", "-stale-every=48"}},
}
