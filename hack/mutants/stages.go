package main

import (
	"fmt"
	"regexp"
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

// own is the one stage for mutants of the routers, which are no part of an engine: the tests of their own packages, then the suite of all routers with
// its faults.
func own(packages []string) []stage {
	return []stage{{"own tests", append(slices.Clone(packages), "./internal/traffic/conformance/..."), nil}}
}

// areRouters reports whether only packages of routers are to be mutated.
func areRouters(patterns []string) bool {
	return len(patterns) > 0 && !slices.ContainsFunc(patterns, func(p string) bool {
		return p != "./internal/traffic" && !strings.HasPrefix(p, "./internal/traffic/")
	})
}

// suites are the packages that test routers. They have no mutants, and the tests of e2e, which start a cluster, take far too long for each of the others'.
var suites = regexp.MustCompile(`/internal/traffic/(conformance|e2e)(/|$)`)

// withoutSuites are the packages that the patterns name, without those that test others.
func withoutSuites(dir string, patterns []string) ([]string, error) {
	named, err := list(dir, patterns...)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, p := range named {
		if !suites.MatchString(p.ImportPath) {
			paths = append(paths, p.ImportPath)
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s names only packages that test routers, which have no mutants; name a router's, such as ./internal/traffic/istio",
			strings.Join(patterns, " "))
	}
	return paths, nil
}

// stages are the fast tests, the cheapest first: the tests of the engines without disturbed transcripts; about 2,000 seeded histories of tier one, whose
// decisions are recorded; the explorer's regressions; what is recorded of all small worlds; the smallest of them, searched to their end; and the
// transcripts with crashes at some of their writes and with stale views. The disturbed transcripts, all of which take as long as the other stages
// together, kill almost nothing that these let live.
var stages = []stage{
	{"tests", engines, []string{"-test.skip=Anywhere$"}},
	{"histories", []string{"./internal/sim/explore"}, []string{"-test.run=^TestExplore(Routed|Hands|HandsRouted|Experiments|Plugins|PluginsRouted)?$", "-seeds=800", "-brief"}},
	{"regressions", []string{"./internal/sim/explore"}, []string{"-test.run=^TestRegressions$", "-brief"}},
	{"decisions in worlds", []string{"./internal/sim/check"}, []string{"-test.run=^TestDecisions$"}},
	{"small worlds", []string{"./internal/sim/check"}, []string{"-test.run=^TestSmallWorlds$"}},
	{"disturbed transcripts", []string{"./internal/plan", "./internal/experiment"}, []string{"-test.run=Anywhere$", "-crash-every=2", "-stale-every=48"}},
}
