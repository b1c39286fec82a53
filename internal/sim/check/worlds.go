package check

import (
	"fmt"

	"github.com/sluice-delivery/sluice/internal/sim/script"

	"github.com/sluice-delivery/sluice/internal/sim"
)

// World is a small world: a Rollout, and what may happen to it, each up to a number of times in one history. What is in it and what people do is
// written in the language of transcripts (internal/plan/testdata).
type World struct {
	// Name is a word, Text what the world is for.
	Name, Text string
	// Lines make the world: the first one the Rollout with what it names.
	Lines []string
	// Routed: canaries have Services or routers.
	Routed bool
	// Moves are what people and fate may do, at most 16; Total how many of them all together happen in one history.
	Moves []Move
	Total uint8
	// Stale is how many passes see old objects, at most Lag writes of each kind behind; Crashes how many end in the middle; Delays how often a
	// deadline comes before what is due.
	Stale, Crashes, Delays uint8
	Lag                    int
	// Fresh worlds begin with the Rollout's first deployment, others with a Rollout that is Healthy.
	Fresh bool
	// Small worlds are searched by every run of the tests.
	Small bool
}

// hands do what lines say.
var hands = script.NewHands()

// do carries out a line of a world, which is right or a mistake of this package.
func do(in *sim.World, line string) {
	if err := hands.Do(in, line); err != nil {
		panic(fmt.Sprintf("world: %v", err))
	}
}

// Routers and Services of the worlds, and a Rollout that a person promotes.
const (
	steps     = ` steps="weight 50; pause"`
	gateway   = `rollout web replicas=2 router=gateway` + steps
	blueGreen = `rollout web replicas=2 services="web-active web-preview" blueGreen=web-active preview=web-preview autoPromotion=false`
	one       = ` replicas=1`
)

// people are what people do in most worlds.
var people = []Move{image("v2"), image("v1"), promote(), abort(), retry()}

func also(moves ...Move) []Move { return append(append([]Move{}, people...), moves...) }

// often lets moves happen three times each in one history.
func often(moves ...Move) []Move {
	all := append([]Move{}, moves...)
	for i := range all {
		all[i].More = 2
	}
	return all
}

// Worlds are those that are searched. Those of one pod have room for many moves and crashes, those of two or three pods for few. So have those with analyses
// and Experiments: a process that dies between making one and writing its name down makes another if the first has ended meanwhile, so that each crash
// multiplies the states.
var Worlds = []*World{
	{
		Name: "canary", Text: "two steps, one of them a pause; a crash and caches that lag", Small: true,
		Lines: []string{`rollout web replicas=2` + steps},
		Moves: people, Total: 3, Crashes: 1, Stale: 1, Lag: 1,
	},
	{
		Name: "canary-people", Text: "people who change their mind again and again, and a process that dies again and again",
		Lines: []string{`rollout web replicas=1` + steps},
		Moves: often(also(promoteFull())...), Total: 7, Crashes: 15,
	},
	{
		Name: "canary-versions", Text: "three versions that supersede each other",
		Lines: []string{`rollout web replicas=2` + steps},
		Moves: often(also(image("v3"), promoteFull(), lead())...), Total: 3, Crashes: 15,
	},
	{
		Name: "canary-hands", Text: "pods die and ReplicaSets are deleted during an update",
		Lines: []string{`rollout web replicas=2 maxSurge=1 maxUnavailable=0` + steps},
		Moves: often(also(kill("v1"), kill("v2"), unready("v1"), deleteSet("v1"), deleteSet("v2"), scale(3), scale(0))...), Total: 2, Crashes: 15,
	},
	{
		Name: "rolling", Text: "an update without steps",
		Lines: []string{`rollout web replicas=3 maxSurge=1 maxUnavailable=1`},
		Moves: often(image("v2"), image("v1"), image("v3"), kill("v1"), scale(1), abort(), retry()), Total: 1, Crashes: 15,
	},
	{
		Name: "rolling-stale", Text: "an update without steps, caches two writes behind",
		Lines: []string{`rollout web replicas=2 maxSurge=1 maxUnavailable=0`},
		Moves: often(image("v2"), image("v3"), scale(1), abort()), Total: 2, Stale: 2, Crashes: 1, Lag: 2,
	},
	{
		Name: "first", Text: "the first deployment, and an update in the middle of it", Fresh: true,
		Lines: []string{`rollout web replicas=2 maxSurge=1 maxUnavailable=0`},
		Moves: often(image("v2"), kill("v1"), deleteSet("v1"), scale(1), hold(), resume()), Total: 1, Crashes: 1, Stale: 1, Lag: 1,
	},
	{
		Name: "services", Text: "a canary with Services and no router", Routed: true,
		Lines: []string{`rollout web replicas=2 services="web-stable web-canary" stableService=web-stable canaryService=web-canary` + steps},
		Moves: often(also(deleteSet("v1"), point("web-stable", "v2"), point("web-stable", "nobody"), deleteService("web-stable"), makeService("web-stable"))...),
		Total: 3, Crashes: 15,
	},
	{
		Name: "gateway", Text: "a routed canary", Routed: true, Small: true,
		Lines: []string{gateway + one + ` scaleDownDelay=30`},
		Moves: []Move{image("v2"), image("v1"), promote(), abort()}, Total: 2, Crashes: 1,
	},
	{
		Name: "gateway-hands", Text: "a routed canary whose ReplicaSets go, and whose route is edited", Routed: true,
		Lines: []string{gateway + one + ` scaleDownDelay=30`},
		Moves: often(also(image("v3"), kill("v1"), deleteSet("v1"), deleteSet("v2"), bend("HTTPRoute", 100), bend("HTTPRoute", 0), deleteRoute("HTTPRoute"), restoreRoute("HTTPRoute"))...),
		Total: 2, Crashes: 15,
	},
	{
		Name: "gateway-stale", Text: "a routed canary, caches behind", Routed: true, Small: true,
		Lines: []string{gateway + one},
		Moves: []Move{image("v2"), promote(), abort()}, Total: 2, Stale: 1, Crashes: 1, Lag: 1,
	},
	{
		Name: "gateway-versions", Text: "a routed canary, three versions and both delays", Routed: true,
		Lines: []string{gateway + one + ` scaleDownDelay=30 abortScaleDownDelay=10`},
		Moves: often(also(image("v3"), promoteFull(), lead())...), Total: 2, Crashes: 15,
	},
	{
		Name: "dynamic", Text: "a routed canary with dynamicStableScale", Routed: true,
		Lines: []string{gateway + ` dynamicStableScale=true`},
		Moves: often(also(kill("v1"), scale(3), bend("HTTPRoute", 100), lead())...), Total: 2, Crashes: 15,
	},
	{
		Name: "enforce-max-surge", Text: "a routed canary with dynamicStableScale and enforceMaxSurge", Routed: true,
		Lines: []string{gateway + ` dynamicStableScale=true enforceMaxSurge=true maxSurge=1`},
		Moves: often(also(image("v3"), kill("v1"), scale(3), deleteSet("v1"))...), Total: 2, Crashes: 15,
	},
	{
		Name: "room", Text: "a routed canary with no room to spare, whose stable version is deleted", Routed: true, Small: true,
		Lines: []string{gateway + ` dynamicStableScale=true enforceMaxSurge=true maxSurge=0 maxUnavailable=1`},
		Moves: []Move{image("v2"), image("v3"), deleteSet("v1")}, Total: 3,
	},
	{
		Name: "ping-pong", Text: "a routed canary with two equal Services", Routed: true,
		Lines: []string{`rollout web replicas=1 services="web-ping web-pong" pingPong="web-ping web-pong" router=gateway` + steps},
		Moves: often(also(image("v3"), deleteSet("v1"))...), Total: 2, Crashes: 15,
	},
	{
		Name: "two-routers", Text: "a canary with two routers", Routed: true, Small: true,
		Lines: []string{`rollout web replicas=1 router=both` + steps},
		Moves: []Move{image("v2"), image("v1"), promote(), abort()}, Total: 2, Crashes: 1, Stale: 1, Lag: 1,
	},
	{
		Name: "two-routers-hands", Text: "a canary with two routers, one of which is edited", Routed: true,
		Lines: []string{`rollout web replicas=1 router=both` + steps},
		Moves: often(also(bend("Ingress", 100), bend("HTTPRoute", 0), deleteRoute("Ingress"), restoreRoute("Ingress"))...), Total: 2, Crashes: 15,
	},
	{
		Name: "blue-green", Text: "a gate that a person opens", Small: true,
		Lines: []string{blueGreen + one},
		Moves: []Move{image("v2"), image("v1"), promote(), abort()}, Total: 2, Crashes: 1, Delays: 1,
	},
	{
		Name: "blue-green-gate", Text: "hands on the active Service and the stable ReplicaSet before the gate", Small: true,
		Lines: []string{blueGreen + one},
		Moves: []Move{image("v2"), abort(), deleteSet("v1"), point("web-active", "v2"), point("web-active", "nobody")}, Total: 3,
	},
	{
		Name: "blue-green-people", Text: "people who change their mind again and again, and a process that dies again and again",
		Lines: []string{blueGreen + one},
		Moves: often(also(promoteFull())...), Total: 6, Crashes: 15,
	},
	{
		Name: "blue-green-hands", Text: "ReplicaSets deleted and Services edited in the pause",
		Lines: []string{blueGreen},
		Moves: often(also(deleteSet("v1"), deleteSet("v2"), point("web-active", "v2"), point("web-active", "nobody"), kill("v1"), deleteService("web-active"), makeService("web-active"))...),
		Total: 2, Crashes: 15,
	},
	{
		Name: "blue-green-rename", Text: "the active Service gets another name", Small: true,
		Lines: []string{blueGreen + one, `service web-active-2`},
		Moves: []Move{image("v2"), promote(), set("active web-active-2"), set("active web-active"), abort()}, Total: 3,
	},
	{
		Name: "blue-green-versions", Text: "three versions, previewReplicaCount and both delays",
		Lines: []string{blueGreen + ` previewReplicas=1 scaleDownDelay=30 abortScaleDownDelay=10`},
		Moves: often(also(image("v3"), promoteFull())...), Total: 2, Crashes: 15,
	},
	{
		Name: "analysis", Text: "a step that measures, with any verdict",
		Lines: []string{`rollout web replicas=1 template=smoke steps="weight 50; analysis smoke"`},
		Moves: often(people...), Total: 3, Crashes: 2,
	},
	{
		Name: "background", Text: "an analysis in the background, with any verdict, and a Rollout that is paused",
		Lines: []string{`rollout web replicas=1 template=smoke background=smoke` + steps},
		Moves: often(also(hold(), resume(), lead())...), Total: 3, Crashes: 1,
	},
	{
		Name: "blue-green-analysis", Text: "analyses before and after the switch, with any verdict",
		Lines: []string{`rollout web replicas=1 template=smoke services="web-active web-preview" blueGreen=web-active preview=web-preview pre=smoke post=smoke`},
		Moves: often(also(deleteSet("v1"), point("web-active", "v2"))...), Total: 2, Crashes: 2,
	},
	{
		Name: "experiment", Text: "a step that is an Experiment, with any outcome",
		Lines: []string{`rollout web replicas=1 steps="weight 50; experiment trial:canary for 1m"`},
		Moves: often(also(lead())...), Total: 3, Crashes: 2,
	},
	{
		Name: "broken", Text: "pods that never start, ReplicaSets that are refused, and a deadline",
		Lines: []string{`rollout web replicas=1 progressDeadlineSeconds=60 progressDeadlineAbort=true` + steps},
		Moves: often(also(image("v3"), breaks("v2"), refuse(), allow(), hold(), resume())...), Total: 3, Crashes: 15,
	},
	{
		Name: "deadline", Text: "progressDeadlineAbort is set at any moment", Small: true,
		Lines: []string{`rollout web replicas=1 progressDeadlineSeconds=60` + steps},
		Moves: []Move{image("v2"), breaks("v2"), set("progressDeadlineAbort true"), abort(), retry()}, Total: 3,
	},
	{
		Name: "restart", Text: "pods that are restarted, during updates too",
		Lines: []string{`rollout web replicas=2 maxSurge=1 maxUnavailable=0` + steps},
		Moves: often(image("v2"), promote(), abort(), restart(), kill("v1"), lead()), Total: 2, Crashes: 15,
	},
	{
		Name: "timed", Text: "a pause that ends by itself, pods that have to be ready for a while, and no old ReplicaSets kept", Small: true,
		Lines: []string{`rollout web replicas=1 minReadySeconds=5 revisionHistoryLimit=0 steps="weight 50; pause 2s"`},
		Moves: []Move{image("v2"), image("v1"), promote(), abort()}, Total: 2, Crashes: 1, Delays: 1,
	},
	{
		Name: "history", Text: "two steps that measure, and no AnalysisRuns kept", Small: true,
		Lines: []string{`rollout web replicas=1 template=smoke successfulRunHistoryLimit=0 steps="weight 50; analysis smoke; analysis smoke"`},
		Moves: []Move{image("v2"), image("v1"), abort()}, Total: 2,
	},
	{
		Name: "metadata", Text: "labels of a version's part, on its pods too", Small: true,
		Lines: []string{`rollout web replicas=2 canaryMetadata=role=canary stableMetadata=role=stable` + steps},
		Moves: []Move{image("v2"), image("v1"), promote(), abort()}, Total: 2, Crashes: 1,
	},
	{
		Name: "workload", Text: "a template that comes from a Deployment, which is scaled down",
		Lines: []string{`rollout web replicas=2 workloadRef=Deployment scaleDown=progressively` + steps, `workload replicas=2`},
		Moves: often(workload("image=v2"), workload("image=v1"), promote(), abort(), retry(), scale(1), Move{Line: "workload gone", Can: hasWorkload}, Move{Line: "workload image=v1 replicas=2", Can: hasNoWorkload}),
		Total: 2, Crashes: 15,
	},
	{
		Name: "strategies", Text: "canary becomes blue-green and goes back",
		Lines: []string{`rollout web replicas=1 services=web-active` + steps},
		Moves: often(also(set("blueGreen web-active"), set(`canary "weight 50; pause"`), deleteSet("v1"))...), Total: 4, Crashes: 15,
	},
}

// Named is a world by its name, nil if there is none.
func Named(name string) *World {
	for _, w := range Worlds {
		if w.Name == name {
			return w
		}
	}
	return nil
}
